#!/bin/sh
# Renews the certificate that stands in a stack's config on main. It deploys nothing.
#
#   ./renew.sh STACK DOMAIN [options of certbot: how it proves that the domain is yours]
#
# Does nothing while the certificate is valid for 30 more days. It needs certbot, a checkout of main, and
# an `origin` that it may push to.
set -eu
stack=$1 domain=$2
shift 2

# Ends here if the state can't be read: else each night would order a certificate.
pulumi stack --stack "$stack" >/dev/null
# Without a chain in config, as on the first day, openssl fails, too.
if pulumi config get chain --stack "$stack" | openssl x509 -noout -checkend $((30 * 86400)); then
  exit 0
fi

kept=renewed/$stack
waiting=$(git ls-remote origin "refs/heads/$kept")
if [ -n "$waiting" ]; then
  echo "The branch $kept has a certificate that main does not have: merge it, or delete it." >&2
  exit 1
fi
# Ends here if it may not push: what it can't keep, it doesn't order.
git push --quiet --dry-run origin "HEAD:refs/heads/$kept"

# The key is in this folder alone, and encrypted in the stack's config.
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
certbot certonly --non-interactive --agree-tos --register-unsafely-without-email \
  --config-dir "$folder" --work-dir "$folder" --logs-dir "$folder" \
  --cert-name renewed --domain "$domain" "$@"

# If somebody else pushes at the same time, it begins again with what they pushed.
for pause in 0 1 2 4 8; do
  sleep "$pause"
  git fetch --quiet origin main
  git checkout --quiet --force --detach FETCH_HEAD
  pulumi config set chain --stack "$stack" <"$folder/live/renewed/fullchain.pem"
  pulumi config set key --secret --stack "$stack" <"$folder/live/renewed/privkey.pem"
  git -c user.name=renew -c user.email=renew@localhost \
    commit --quiet --message "Renew $domain" "Pulumi.$stack.yaml"
  if git push origin HEAD:main; then
    exit 0
  fi
done
git push origin "HEAD:refs/heads/$kept"
echo "main took no push: the new certificate is on the branch $kept. Merge it." >&2
exit 1
