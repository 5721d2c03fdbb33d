# Scripts that were written for CANN source bin/setenv.bash: the same as set_env.sh.
. "$(dirname "${BASH_SOURCE[0]}")/../set_env.sh"
