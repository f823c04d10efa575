#!/bin/sh
# Renews the certificate that stands in a stack's config on main. It deploys nothing.
#
#   ./renew.sh STACK DOMAIN [options of certbot: how it proves that the domain is yours]
#
# Does nothing while the certificate is valid for 30 more days, unless FORCE is the name of the stack. It
# needs certbot, and an `origin` that it may push to.
set -eu
stack=$1 domain=$2 main=${CI_DEFAULT_BRANCH:-main} kept=renewed/$1
shift 2

# The key is in this folder alone, and encrypted in the stack's config.
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
trap 'exit 1' HUP INT TERM

# Whether the certificate in config is valid for 30 more days. Where that can't be said, the script ends.
lasts() {
  pulumi config get chain --stack "$stack" "$@" >"$folder/chain.pem" || exit 1
  openssl x509 -noout -in "$folder/chain.pem" || exit 1
  openssl x509 -noout -in "$folder/chain.pem" -checkend $((30 * 86400))
}

# main as it is now: when a job runs again, its checkout is old.
take_main() {
  git fetch --quiet origin "$main" && git checkout --quiet --force --detach FETCH_HEAD
}

# The new certificate, on top of main as it is now.
commit() {
  take_main &&
    pulumi config set chain --stack "$stack" <"$folder/live/renewed/fullchain.pem" &&
    pulumi config set key --secret --stack "$stack" <"$folder/live/renewed/privkey.pem" &&
    git -c user.name=renew -c user.email=renew@localhost \
      commit --quiet --message "Renew $domain" "Pulumi.$stack.yaml"
}

take_main
found=$(git ls-remote origin "refs/heads/$kept")
tip=${found%%[!0-9a-f]*} # the commit of that branch; empty without one
if [ "${FORCE:-}" != "$stack" ]; then
  if lasts; then
    exit 0
  fi
  # After a merge the branch may still be there, with a certificate as old as that on main.
  if [ -n "$tip" ]; then
    git fetch --quiet origin "$kept"
    git show "FETCH_HEAD:./Pulumi.$stack.yaml" >"$folder/kept.yaml"
    if lasts --config-file "$folder/kept.yaml"; then
      echo "The branch $kept has a certificate that $main does not have: merge it, or delete it." >&2
      exit 1
    fi
  fi
fi

# Ends here if it may not push or can't encrypt: what it can't keep, it doesn't order. A dry push does not
# ask the rules for branches.
git push --quiet --dry-run --force-with-lease="$kept:$tip" origin "HEAD:refs/heads/$kept"
echo test | pulumi config set key --secret --stack "$stack"

(
  set -- certonly --non-interactive --agree-tos --register-unsafely-without-email \
    --config-dir "$folder" --work-dir "$folder" --logs-dir "$folder" \
    --cert-name renewed --domain "$domain" "$@"
  export HOME="$folder"
  # certbot, its plugins and its hooks see these variables alone: add what yours need.
  # shellcheck disable=SC2046 # names have no spaces
  unset $(awk 'BEGIN { for (name in ENVIRON) if (name !~ /^(PATH|HOME|DNS_TOKEN)$/) print name }')
  certbot "$@"
)

# If somebody else pushes at the same time, or a command fails, it begins again with main as it is then.
made=
for pause in 0 1 2 4 8; do
  sleep "$pause"
  commit || continue
  made=$(git rev-parse HEAD)
  if git push origin "HEAD:$main"; then
    exit 0
  fi
done
git push --force-with-lease="$kept:$tip" origin "${made:?there is no commit}:refs/heads/$kept"
echo "$main took no push: the new certificate is on the branch $kept. Merge it." >&2
exit 1
