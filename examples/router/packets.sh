#!/bin/sh
# The packets that the generator sends to the router, as lines: from 10.0.0.2 and fd00::2, whose MAC address is another.
craft() { wire craft --no-time "eth(src=02:00:00:00:00:99,dst=02:00:00:00:00:01)/$1"; }
{
    for to in 10.0.1.2 fd00:1::2; do
        case $to in *:*) ip=ipv6 ttl=hlim echo=icmpv6 src=fd00::2 own=fd00::1 ;; *) ip=ip ttl=ttl echo=icmp src=10.0.0.2 own=10.0.0.1 ;; esac
        craft "$ip(src=$src,dst=$to,$ttl=[1,2,64])/udp(sport=1000,dport=[7,2000])/\"hello\""
        craft "$ip(src=$src,dst=$own)/udp(sport=1000,dport=2000)/\"to the router\""
        craft "$ip(src=$src,dst=$own)/tcp(sport=1000,dport=80,flags=S,seq=7)"
        craft "$ip(src=$src,dst=$own)/$echo(id=1,seq=1)/\"a ping\""
    done
    craft 'ip(src=10.0.0.2,dst=[10.6.0.1,10.7.0.1,10.5.0.1,198.51.100.1,10.4.0.1])/udp(sport=1000,dport=2000)/"nowhere"'
    craft 'ipv6(src=fd00::2,dst=[2001:db8::1,fd06::1])/udp(sport=1000,dport=2000)/"nowhere"'
    # Longer than the MTU of the next link, with and without leave to cut it.
    long=$(printf '%01392d' 0)
    craft "ip(src=10.0.0.2,dst=10.0.2.2,flags=[0,2])/udp(sport=1000,dport=2000)/\"$long\""
    craft "ipv6(src=fd00::2,dst=fd00:2::2)/udp(sport=1000,dport=2000)/\"$long\""
}
