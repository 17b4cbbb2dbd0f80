{{/* Checks that a schema can't express, or for which a schema has no helpful message. helm does not render the chart if a value is wrong. */}}
{{- define "banyan.agent.check" -}}
{{- $agent := .Values.agent -}}
{{- include "banyan.checkPath" (dict "path" $agent.path "field" "agent.path" "noun" "cluster" "example" "eu:paris:store-17") -}}
{{- if not $agent.parent.address -}}
{{- fail "agent.parent.address is missing: where the parent listens for its children; --set agent.parent.address=relay.example.com:7443" -}}
{{- end -}}
{{- range $i, $one := prepend $agent.parent.replicas $agent.parent.address -}}
{{- $field := ternary "agent.parent.address" (printf "agent.parent.replicas[%d]" (sub $i 1)) (eq $i 0) -}}
{{- include "banyan.checkAddress" (dict "address" $one "field" $field) -}}
{{- end -}}
{{- include "banyan.checkPort" (dict "port" $agent.api.port "field" "agent.api.port" "remedy" "") -}}
{{- $identity := $agent.identity -}}
{{- $given := compact (list $identity.ca $identity.cert $identity.key) -}}
{{- $token := compact (list $identity.joinToken $identity.joinTokenSecretName) -}}
{{- if and $identity.secretName $given -}}
{{- fail "agent.identity has a secretName and certificates too: use only one of the two" -}}
{{- end -}}
{{- if and $token (or $identity.secretName $given) -}}
{{- fail "agent.identity has a join token and a certificate too: use only one of the two" -}}
{{- end -}}
{{- include "banyan.checkToken" (dict "part" "agent" "identity" $identity) -}}
{{- if and (not $token) (not $identity.secretName) (ne (len $given) 3) -}}
{{- fail "agent.identity is missing: give the token that `banyan join-token` prints (--set agent.identity.joinToken=…), or name the Secret that `banyan enroll` has written (--set agent.identity.secretName=…), or give ca, cert and key by --set-file" -}}
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
{{- if and $agent.users.ca (not (contains "-----BEGIN " $agent.users.ca)) -}}
{{- fail "agent.users.ca is no PEM (no -----BEGIN in it): give the file by --set-file agent.users.ca=FILE" -}}
{{- end -}}
{{- include "banyan.checkLink" (dict "part" "agent" "values" $agent) -}}
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
