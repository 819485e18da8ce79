# Of iperf3 -J for UDP: what came, Mb/s of payload; what was sent, Mb/s; share lost; jitter, us; seconds.
/"sum_sent":/ { part = "sent" }
/"sum_received":/ { part = "received" }
/"cpu_utilization_percent":/ { part = "" }
part != "" && split($0, pair, ":") == 2 { gsub(/[",\t ]/, "", pair[1]); gsub(/[, \t]/, "", pair[2]); is[part, pair[1]] = pair[2] }
END {
    if (!(("received", "seconds") in is) || is["received", "seconds"] == 0) { print "iperf3 has measured nothing" > "/dev/stderr"; exit 1 }
    sent = is["sent", "packets"]
    came = is["received", "bytes"] / (is["sent", "bytes"] / sent)
    printf "%.3f %.3f %.6f %.3f %.6f\n", is["received", "bytes"] * 8e-6 / is["received", "seconds"], is["sent", "bytes"] * 8e-6 / is["sent", "seconds"],
        1 - came / sent, is["received", "jitter_ms"] * 1000, is["sent", "seconds"]
}
