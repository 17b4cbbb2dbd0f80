{{/* Checks that a schema can't express, or for which a schema has no helpful message. helm does not render the chart if a value is wrong. */}}
{{- define "banyan.agent.check" -}}
{{- $agent := .Values.agent -}}
{{- $label := "[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?" -}}
{{- $address := "^([A-Za-z0-9]([-A-Za-z0-9.]*[A-Za-z0-9])?|\\[[0-9a-fA-F:.]+\\]):[0-9]{1,5}$" -}}
{{- if not $agent.path -}}
{{- fail "agent.path is missing: the path of this cluster in the tree, as it was enrolled; --set agent.path=eu:paris:store-17" -}}
{{- end -}}
{{- if not (regexMatch (printf "^%s(:%s)*$" $label $label) $agent.path) -}}
{{- fail (printf "agent.path: %q is no path: write names of lower case letters, digits and dashes, joined by colons, such as eu:paris:store-17" $agent.path) -}}
{{- end -}}
{{- if not $agent.parent.address -}}
{{- fail "agent.parent.address is missing: where the parent listens for its children; --set agent.parent.address=relay.example.com:7443" -}}
{{- end -}}
{{- range $i, $one := prepend $agent.parent.replicas $agent.parent.address -}}
{{- if not (regexMatch $address $one) -}}
{{- $field := ternary "agent.parent.address" (printf "agent.parent.replicas[%d]" (sub $i 1)) (eq $i 0) -}}
{{- fail (printf "%s: %q is no address: host:port is needed, such as relay.example.com:7443, without https://" $field $one) -}}
{{- end -}}
{{- end -}}
{{- $identity := $agent.identity -}}
{{- $given := compact (list $identity.ca $identity.cert $identity.key) -}}
{{- $token := compact (list $identity.joinToken $identity.joinTokenSecretName) -}}
{{- if and $identity.secretName $given -}}
{{- fail "agent.identity has a secretName and certificates too: use only one of the two" -}}
{{- end -}}
{{- if and $token (or $identity.secretName $given) -}}
{{- fail "agent.identity has a join token and a certificate too: use only one of the two" -}}
{{- end -}}
{{- if gt (len $token) 1 -}}
{{- fail "agent.identity has a joinToken and a joinTokenSecretName: use only one of the two" -}}
{{- end -}}
{{- if and (not $token) (not $identity.secretName) (ne (len $given) 3) -}}
{{- fail "agent.identity is missing: give the token that `banyan join-token` prints (--set agent.identity.joinToken=…), or name the Secret that `banyan enroll` has written (--set agent.identity.secretName=…), or give ca, cert and key by --set-file" -}}
{{- end -}}
{{- if and $identity.joinToken (not (regexMatch "^banyan-join-1\\.[a-z0-9]{10}\\.[-_A-Za-z0-9]{43}\\.[-_A-Za-z0-9]{43}$" $identity.joinToken)) -}}
{{- fail "agent.identity.joinToken is no join token, or not all of it: copy the whole text that `banyan join-token` prints; it begins with banyan-join-1." -}}
{{- end -}}
{{- if and $token $agent.link.terminatedTls -}}
{{- fail "agent.link.terminatedTls: with a join token, TLS has to end at the parent, because a gateway that ends TLS could read the token: use agent.identity.secretName and `banyan enroll`" -}}
{{- end -}}
{{- range $name := list "ca" "cert" "key" -}}
{{- $pem := index $identity $name -}}
{{- if and $pem (not (contains "-----BEGIN " $pem)) -}}
{{- fail (printf "agent.identity.%s is no PEM (no -----BEGIN in it): give the file by --set-file agent.identity.%s=FILE" $name $name) -}}
{{- end -}}
{{- end -}}
{{- if and $agent.link.ca (not (contains "-----BEGIN " $agent.link.ca)) -}}
{{- fail "agent.link.ca is no PEM (no -----BEGIN in it): give the file by --set-file agent.link.ca=FILE" -}}
{{- end -}}
{{- if and $agent.users.ca (not (contains "-----BEGIN " $agent.users.ca)) -}}
{{- fail "agent.users.ca is no PEM (no -----BEGIN in it): give the file by --set-file agent.users.ca=FILE" -}}
{{- end -}}
{{- if and $agent.proxy.url $agent.proxy.secretName -}}
{{- fail "agent.proxy has a url and a secretName: use only one of the two" -}}
{{- end -}}
{{- if and $agent.proxy.url (not (regexMatch "^https?://[^/]+/?$" $agent.proxy.url)) -}}
{{- fail "agent.proxy.url is no URL of a proxy: write http://user:password@host:port or https://…" -}}
{{- end -}}
{{- if and (eq $agent.data.type "hostPath") (not (regexMatch "^/[^/]" $agent.data.hostPath)) -}}
{{- fail (printf "agent.data.hostPath: %q is no folder: write an absolute path, such as /var/lib/banyan" $agent.data.hostPath) -}}
{{- end -}}
{{- if has ".." (splitList "/" $agent.data.hostPath) -}}
{{- fail (printf "agent.data.hostPath: %q has a .. in it: name the folder itself" $agent.data.hostPath) -}}
{{- end -}}
{{- if and (not $agent.rights.clusterAdmin) (not $agent.rights.kinds) -}}
{{- fail "agent.rights.kinds is empty: list the kinds that placements may bring here, or set agent.rights.clusterAdmin=true" -}}
{{- end -}}
{{- end }}
