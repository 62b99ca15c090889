#!/bin/bash
# A rank is killed at a random instant, or a machine is disconnected: all other ranks end within
# 10 seconds, and the restarted run ends with the weights of an undisturbed one.
#
#   tests/e2e/ranks_fail.sh [TRAINC]
#
#   KILLS=3     number of kills; use 20 if time permits
#   SEED=...    seed of the instants
. "$(dirname "$0")/ranks.bash"
id=$((RANDOM % 200))
spaces=("tc${id}a" "tc${id}b")
cleanup() { for n in "${spaces[@]}"; do ip netns del "$n" 2>/dev/null; done; }
seed=${SEED:-$RANDOM}
RANDOM=$seed

train=(train --cfg "$here/configs/smoke/shapes.yaml" --data-path "$dir/shapes" --device cpu --threads 1 --batch-size 4
  --epochs 8 --save-steps 3 --output "$dir/two")
newest() { ls two/*/*/last.safetensors 2>/dev/null; }

began=$(date +%s%N)
mpirun --oversubscribe -n 2 "$trainc" "${train[@]}" >log 2>&1 || fail "undisturbed"
took=$((($(date +%s%N) - began) / 1000000))
mv two undisturbed
kills=${KILLS:-3} slowest=0
for ((k = 0; k < kills; k++)); do
  rm -rf two
  mpirun --oversubscribe -n 2 "$trainc" "${train[@]}" >log 2>&1 &
  pid=$!
  rank=$((RANDOM % 2)) instant=$(((RANDOM * 32768 + RANDOM) % took))
  sleep "$(awk -v ms=$instant 'BEGIN {print ms / 1000}')"
  child=$(pgrep -P $pid -f "$dir/two" | sed -n "$((rank + 1))p")
  [ -n "$child" ] && kill -9 "$child" 2>/dev/null
  if [ -n "$child" ]; then
    ends $pid 10 || { fail "killed rank $rank after $instant ms: the others continue (seed $seed)"; kill -9 $pid; }
    [ $tenths -gt $slowest ] && slowest=$tenths
    wait $pid
    code=$?
    [ $code != 0 ] || [ -n "$(newest)" ] || fail "killed rank $rank after $instant ms: exit code 0 (seed $seed)"
    [ $code = 0 ] || grep -q "process rank $rank .* on node .* exited on signal 9" log ||
      fail "killed rank $rank after $instant ms: rank, host and reason are not named (seed $seed)"
  else
    wait $pid
  fi
  [ -z "$(newest)" ] || "$trainc" eval --resume "$(newest)" --data-path "$dir/shapes" --device cpu >log 2>&1 ||
    fail "killed rank $rank after $instant ms: the newest checkpoint is not whole (seed $seed)"
  mpirun --oversubscribe -n 2 "$trainc" "${train[@]}" >log 2>&1 || fail "killed after $instant ms: does not resume"
  cmp -s two/*/*/last.safetensors undisturbed/*/*/last.safetensors ||
    fail "killed rank $rank after $instant ms: other weights (seed $seed)"
done
echo "ok: $kills kills, all others ended within $((slowest / 10)).$((slowest % 10)) s"

# One of four ranks hangs: all others name it, no matter how long they have waited for each other.
for hung in 2 0; do
  mpirun --oversubscribe -n 4 "$trainc" "${train[@]}" --batch-size 2 --output "$dir/four" --epochs 100 --dist-timeout 3 >log 2>&1 &
  pid=$!
  while ! grep -q '"step":20,' four/*/*/metrics.jsonl 2>/dev/null && kill -0 $pid 2>/dev/null; do sleep 0.05; done
  child=$(pgrep -P $pid -f "$dir/four" | sed -n "$((hung + 1))p")
  kill -STOP "$child"
  ends $pid 10 || { fail "rank $hung of 4 hangs: the others continue"; kill -9 $pid "$child"; }
  wait $pid && fail "rank $hung of 4 hangs: exit code 0"
  grep -q "(DIST.TIMEOUT), on host $(hostname) in update [1-9][0-9]*: rank $hung on host $(hostname) hangs, or its machine is gone" log ||
    fail "rank $hung of 4 hangs: which one is not said"
  grep "DIST.TIMEOUT" log | grep -v ": rank $hung on host" && fail "rank $hung of 4 hangs: another one is named"
  rm -rf four
done
echo "ok: the rank that hangs is named"

# If the launcher is killed, its ranks end. While it runs, other users cannot connect to its
# ports. A program file that replaces the running one is not started.
cp "$trainc" ./own
for instant in 0.05 0.2 0.5 3; do
  ./own launch -n 2 --oversubscribe -- "${train[@]}" --output "$dir/killed" --epochs 500 >log 2>&1 &
  pid=$!
  cp own new && mv new own
  sleep $instant
  for child in $(pgrep -P $pid) $(pgrep -P "$(pgrep -d, -P $pid)" 2>/dev/null); do
    [ $instant = 3 ] && ss -tlnp | grep "pid=$child," | grep -vE ' (127\.0\.0\.1|\[::1\]):' && fail "launch: ports are open to others"
  done
  kill -9 $pid
  wait $pid 2>/dev/null
  for ((i = 0; i < 100; i++)); do pgrep -f "output $dir/killed" >/dev/null || break; sleep 0.1; done
  pgrep -f "output $dir/killed" >/dev/null && { fail "launch killed after $instant s: its processes live on"; pkill -9 -f "output $dir/killed"; }
done
[ -e killed/*/*/metrics.jsonl ] || fail "launch: nothing was trained"
# --restarts retries while another process uses the folder.
folder=$(echo "$dir"/killed/*/*)
"$trainc" "${train[@]}" --output "$dir/killed" --epochs 500 >log2 2>&1 &
pid=$!
for ((i = 0; i < 100; i++)); do grep -q "steps of" log2 && break; sleep 0.1; done
kill -STOP $pid
./own launch -n 2 --oversubscribe --restarts 3 -- "${train[@]}" --output "$dir/killed" --epochs 500 --dist-timeout 2 >log 2>&1 &
launcher=$!
for ((i = 0; i < 100; i++)); do grep -q "exit code 75; restarting" log && break; sleep 0.1; done
kill -9 $pid
for ((i = 0; i < 100; i++)); do grep -q "resumed from" log && break; sleep 0.1; done
grep -q "exit code 75; restarting" log && grep -q "resumed from" log || fail "--restarts: a lock ends the launcher"
kill -TERM $launcher
wait $pid $launcher 2>/dev/null
[ -d "$folder" ] || fail "--restarts: another folder"
echo "ok: a launcher that is killed takes its processes along"

# Two network namespaces act as two machines; mpirun's agent replaces ssh.
machines() {
  local a=${spaces[0]} b=${spaces[1]}
  command -v ip >/dev/null && ip netns add "$a" 2>/dev/null && ip netns add "$b" 2>/dev/null &&
    ip link add "$a" netns "$a" type veth peer name "$b" netns "$b" 2>/dev/null || return 1
  ip -n "$a" addr add "10.87.$id.1/24" dev "$a" && ip -n "$b" addr add "10.87.$id.2/24" dev "$b" &&
    ip -n "$a" link set "$a" up && ip -n "$b" link set "$b" up && ip -n "$a" link set lo up && ip -n "$b" link set lo up
}
if machines; then
  cat >agent <<EOF
#!/bin/bash
while [[ \$1 == -* ]]; do shift; done
case \$1 in
10.87.$id.1) space=${spaces[0]} ;;
10.87.$id.2) space=${spaces[1]}; ip -n \$space link show \$space | grep -q "state UP" || exit 255 ;;
*) exit 255 ;;
esac
shift
exec ip netns exec \$space unshare --uts sh -c "hostname \$space; \$*"
EOF
  chmod +x agent
  export OMPI_MCA_plm_rsh_agent=$dir/agent OMPI_MCA_oob_tcp_if_include=10.87.$id.0/24 OMPI_MCA_btl=self,tcp OMPI_MCA_pml=ob1 \
    OMPI_MCA_btl_tcp_if_include=10.87.$id.0/24
  rm -rf two
  # A shared folder, and more epochs than fit before the link is cut.
  ip netns exec "${spaces[0]}" unshare --uts sh -c "hostname ${spaces[0]}; exec \"\$0\" \"\$@\"" \
    "$trainc" launch -n 2 --hosts "10.87.$id.1:1,10.87.$id.2:1" --restarts 1 -- "${train[@]}" --epochs 400 --max-steps 800 --dist-timeout 3 >log 2>&1 &
  pid=$!
  while ! grep -q '"step":60,' two/*/*/metrics.jsonl 2>/dev/null && kill -0 $pid 2>/dev/null; do sleep 0.05; done
  ip -n "${spaces[1]}" link set "${spaces[1]}" down
  for ((i = 0; i < 250; i++)); do grep -q "restarting from the newest checkpoint" log && break; sleep 0.1; done
  [ $i -lt 250 ] || fail "a machine is cut off: the others continue"
  ends $pid 100 || { cat log; fail "a machine is cut off: no end"; kill -9 $pid; }
  wait $pid || fail "a machine is cut off: not started again"
  grep -q "(DIST.TIMEOUT), on host ${spaces[0]} in update [1-9][0-9]*: rank 1 on host ${spaces[1]} hangs, or its machine is gone" log ||
    fail "cut off: rank, host and reason are not said"
  grep -q "host '10.87.$id.2' does not respond; continuing without it" log || fail "cut off: which machine is not said"
  grep -q "resuming after [1-9][0-9]* images of epoch" log || fail "cut off: not with the epoch's next image"
  grep -q '"step":800,' two/*/*/metrics.jsonl || fail "cut off: the run is not finished"
  echo "ok: a machine that is cut off"
else
  echo "skipped: network namespaces are not allowed here"
fi

finish
