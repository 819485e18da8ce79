# What comes of a digital video's pictures, by the sequence numbers of the packets that came, 12 hexadecimal digits a line, blanks between. For both
# worlds. mode: never or adaptive.
#
# Digital video (IEC 61834, 525 lines) is 30 pictures a second of 1,350 macroblocks of 32 by 8 pixels, each coded by itself. A picture
# is 1,500 blocks of 80 bytes, of which 1,350 are macroblocks; 17 go into a packet. A decoder shows the last that it had of
# a macroblock that did not come. The picture here is a texture that moves by 4 pixels a picture; the signal-to-noise ratio is that of the
# pictures shown to those sent, of 8 bits. The first two seconds, in which the queue fills, are left out.
BEGIN {
    digits = "0123456789ABCDEF"
    first = 60; pictures = 300; per = 89; blocks = 1350; pi = 3.14159265358979
    # The error of a pixel shown so many pictures late, squared, in the mean over a macroblock.
    for (late = 1; late <= 60; late++) {
        sum = 0
        for (y = 0; y < 8; y++) for (x = 0; x < 32; x++) {
            d = shade(x, y, late) - shade(x, y, 0)
            sum += d * d
        }
        error[late] = sum / 256
    }
}
function shade(x, y, t) { x -= 4 * t; return 128 + 60 * sin(2 * pi * x / 48) * cos(2 * pi * y / 40) + 30 * sin(2 * pi * (x + y) / 11) }
{
    n = 0
    gsub(/ /, "")
    for (i = 1; i <= 12; i++) n = n * 16 + index(digits, substr($0, i, 1)) - 1
    came[n] = 1
}
END {
    for (p = first; p < first + pictures; p++) {
        noise = 0; bad = 0
        for (k = 0; k < per; k++) {
            # Of each ten blocks of 80 bytes nine are macroblocks.
            own = int((k + 1) * blocks / per) - int(k * blocks / per)
            sent++
            if ((p * per + k) in came) { shown[k] = p; continue }
            lost++; bad += own
            late = p - shown[k]; if (late > 60) late = 60
            noise += own * error[late]
        }
        damaged += bad > 0; macroblocks += bad
        # Nothing is worse than what eight bits round away.
        noise = noise / blocks + 1 / 12
        ratio = 10 * log(255 * 255 / noise) / log(10)
        total += ratio
        if (p == first || ratio < worst) worst = ratio
    }
    printf "%-15s %12.4f %16.1f%% %16.2f%% %18.1f %9.1f\n", mode == "never" ? "no compression" : "adaptive", lost / sent,
        100 * damaged / pictures, 100 * macroblocks / pictures / blocks, worst, total / pictures
}
