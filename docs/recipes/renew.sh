#!/bin/sh
# Renews the certificate that stands in a stack's config, and commits it. `pulumi up` deploys it.
#
#   ./renew.sh STACK DOMAIN [options of certbot: how it proves that the domain is yours]
#
# Does nothing while the certificate is valid for 30 more days. It needs certbot, and an `origin`
# that it may push to.
set -eu
stack=$1 domain=$2
shift 2

days=30
# Ends here if the state can't be read: else each night would order a certificate.
pulumi stack --stack "$stack" >/dev/null
# Without a chain in config, as on the first day, openssl fails, too.
if pulumi config get chain --stack "$stack" | openssl x509 -noout -checkend $((days * 86400)); then
  exit 0
fi

# The key is in this folder alone, and encrypted in the stack's config.
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
certbot certonly --non-interactive --agree-tos --register-unsafely-without-email \
  --config-dir "$folder" --work-dir "$folder" --logs-dir "$folder" \
  --cert-name renewed --domain "$domain" "$@"
pulumi config set chain --stack "$stack" <"$folder/live/renewed/fullchain.pem"
pulumi config set key --secret --stack "$stack" <"$folder/live/renewed/privkey.pem"

# Before it is deployed: else the next merge would deploy the old certificate again.
git -c user.name=renew -c user.email=renew@localhost \
  commit --quiet --message "Renew $domain" "Pulumi.$stack.yaml"
git push origin HEAD:main
