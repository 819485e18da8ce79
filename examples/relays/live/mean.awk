# The mean of each column of numbers, and behind it half of its 95 % confidence interval by Student's t.
BEGIN {
    split("12.71 4.303 3.182 2.776 2.571 2.447 2.365 2.306 2.262 2.228 2.201 2.179 2.160 2.145 2.131 2.120 2.110 2.101 2.093", t, " ")
}
{ n++; columns = NF; for (i = 1; i <= NF; i++) { sum[i] += $i; square[i] += $i * $i } }
END {
    for (i = 1; i <= columns; i++) {
        mean = sum[i] / n; half = 0
        if (n > 1) {
            spread = (square[i] - n * mean * mean) / (n - 1)
            half = ((n - 1) in t ? t[n - 1] : 1.96) * sqrt((spread > 0 ? spread : 0) / n)
        }
        printf "%s%.4f %.4f", (i > 1 ? " " : ""), mean, half
    }
    printf "\n"
}
