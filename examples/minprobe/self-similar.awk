# Times in ps of 1518-byte packets of self-similar traffic: the sum of 32 sources that are on and off for times drawn from Pareto distributions (alpha 1.4 and 1.2; Willinger et al.,
# 1997), 1 Gb/s while on, 3 Gb/s in the mean, 60 ms. To be sorted.
function pareto(alpha, mean) { return mean * (alpha - 1) / alpha / (1 - rand()) ^ (1 / alpha) }
BEGIN {
    srand(7)
    for (source = 0; source < 32; source++) {
        at = -rand() * 1e9
        while (at < 60e9) {
            end = at + pareto(1.4, 1e8)
            for (; at < end && at < 60e9; at += 12.144e6) if (at >= 0) printf "%.0f\n", at
            at = end + pareto(1.2, 9.6e8)
        }
    }
}
