{{/* Checks of the values of a center and a relay. helm does not render the chart if a value is wrong. */}}
{{- define "banyan.node.check" -}}
{{- $node := .Values.node -}}
{{- $relay := .Values.relay -}}
{{- range $i, $name := .Values.names -}}
{{- if not (or (regexMatch "^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$" $name) (and (contains ":" $name) (regexMatch "^[0-9a-fA-F:.]+$" $name))) -}}
{{- fail (printf "names[%d]: %q is neither a DNS name nor an IP address: write relay.example.com, 203.0.113.7 or 2001:db8::1, without https://, brackets and port" $i $name) -}}
{{- end -}}
{{- end -}}
{{- range $field := list "api" "mesh" -}}
{{- with index $.Values.advertise $field -}}
{{- include "banyan.checkAddress" (dict "address" . "field" (printf "advertise.%s" $field)) -}}
{{- end -}}
{{- $remedy := printf "; a port of the Service may be lower (node.service.%sPort)" $field -}}
{{- include "banyan.checkPort" (dict "port" (index $node $field "port") "field" (printf "node.%s.port" $field) "remedy" $remedy) -}}
{{- end -}}
{{- $host := regexReplaceAll "^\\[?([^\\]]*)\\]?:[0-9]+$" .Values.advertise.api "${1}" -}}
{{- $known := include "banyan.node.names" . | fromJsonArray -}}
{{- if eq .Values.role "center" -}}{{- $known = concat $known (list "localhost" "127.0.0.1") -}}{{- end -}}
{{- if and $host (not (has $host $known)) (not $node.mesh.terminatedTls) -}}
{{- fail (printf "advertise.api: %q is not in names, so kubectl would refuse the certificate: add it to names, or set node.mesh.terminatedTls=true if TLS ends before the pod" $host) -}}
{{- end -}}
{{- if eq (int $node.api.port) (int $node.mesh.port) -}}
{{- fail (printf "node.mesh.port: %d is the port of the API too (node.api.port): choose another one" (int $node.mesh.port)) -}}
{{- end -}}
{{- if eq (int $node.service.apiPort) (int $node.service.meshPort) -}}
{{- fail (printf "node.service.meshPort: %d is the port of the API too (node.service.apiPort): choose another one" (int $node.service.meshPort)) -}}
{{- end -}}
{{- if and $node.ingress.enabled (not $node.ingress.apiHost) (not $node.ingress.meshHost) -}}
{{- fail "node.ingress is enabled and leads nowhere: give apiHost for users, meshHost for children, or both" -}}
{{- end -}}
{{- if and $node.ingress.tlsSecretName (not $node.mesh.terminatedTls) -}}
{{- fail "node.ingress.tlsSecretName: TLS would end at the Ingress, and node.mesh.terminatedTls is false: set it to true, or remove the Secret and let the controller pass TLS through (node.ingress.annotations)" -}}
{{- end -}}
{{- if and $node.gateway.enabled (not $node.gateway.parentRefs) -}}
{{- fail "node.gateway.parentRefs is empty: name the Gateway that leads here, such as [{name: public, namespace: gateways}]" -}}
{{- end -}}
{{- if and $node.gateway.enabled (not $node.gateway.apiHost) (not $node.gateway.meshHost) -}}
{{- fail "node.gateway is enabled and leads nowhere: give apiHost for users, meshHost for children, or both" -}}
{{- end -}}
{{- range $part := list "ingress" "gateway" -}}
{{- $hosts := index $node $part -}}
{{- if and $hosts.enabled $hosts.apiHost (eq $hosts.apiHost $hosts.meshHost) -}}
{{- fail (printf "node.%s.meshHost: %q is the host of the API too: a route has one port for each host, so choose another name" $part $hosts.meshHost) -}}
{{- end -}}
{{- if and $hosts.enabled $hosts.apiHost (not (has $hosts.apiHost $.Values.names)) (not $node.mesh.terminatedTls) -}}
{{- fail (printf "node.%s.apiHost: %q is not in names, so kubectl would refuse the certificate: add it to names" $part $hosts.apiHost) -}}
{{- end -}}
{{- end -}}
{{- if eq .Values.role "center" -}}
{{- if and .Values.center.tree .Values.center.authority.secretName -}}
{{- fail "center has a tree and authority.secretName: give a tree to let the center make its authority, or a Secret that has one" -}}
{{- end -}}
{{- if not (or .Values.center.tree .Values.center.authority.secretName) -}}
{{- fail "center.tree is missing: the name of your tree, which stands in every certificate; --set center.tree=retail" -}}
{{- end -}}
{{- if and .Values.center.tree (not (regexMatch "^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$" .Values.center.tree)) -}}
{{- fail (printf "center.tree: %q is no name of a tree: use a-z, 0-9, '-' and '.', such as retail" .Values.center.tree) -}}
{{- end -}}
{{- if or $node.users.ca (ne $node.access.fromAbove "cluster-admin") -}}
{{- fail "node.users.ca and node.access are for relays: the center has the authority of users itself, and nobody is above it" -}}
{{- end -}}
{{- else -}}
{{- include "banyan.checkPath" (dict "path" $relay.path "field" "relay.path" "noun" "relay" "example" "eu") -}}
{{- if not $relay.parent.address -}}
{{- fail "relay.parent.address is missing: where the parent listens for its children; --set relay.parent.address=center.example.com:7443" -}}
{{- end -}}
{{- include "banyan.checkAddress" (dict "address" $relay.parent.address "field" "relay.parent.address") -}}
{{- range $i, $one := $relay.parent.replicas -}}
{{- include "banyan.checkAddress" (dict "address" $one "field" (printf "relay.parent.replicas[%d]" $i)) -}}
{{- end -}}
{{- if not (or $relay.identity.joinToken $relay.identity.joinTokenSecretName) -}}
{{- fail (printf "relay.identity is missing: give the token that `banyan join-token --relay %s` prints (--set relay.identity.joinToken=…), or name a Secret with it (--set relay.identity.joinTokenSecretName=…)" $relay.path) -}}
{{- end -}}
{{- include "banyan.checkToken" (dict "part" "relay" "identity" $relay.identity) -}}
{{- if gt (int $relay.replicas) 1 -}}
{{- fail (printf "relay.replicas: %d: a relay that joins with a token is one pod, because its parent admits one key for each path: set relay.replicas=1; docs/operations/kubernetes.md says what instead" (int $relay.replicas)) -}}
{{- end -}}
{{- if $relay.link.terminatedTls -}}
{{- fail "relay.link.terminatedTls: a relay joins with a token, and a gateway that ends TLS could read the token: give an address of the parent to which TLS passes through" -}}
{{- end -}}
{{- include "banyan.checkLink" (dict "part" "relay" "values" $relay) -}}
{{- if and $node.users.ca (not (contains "-----BEGIN " $node.users.ca)) -}}
{{- fail "node.users.ca is no PEM (no -----BEGIN in it): give the file by --set-file node.users.ca=FILE" -}}
{{- end -}}
{{- end -}}
{{- $written := list "path" "data" "pki" "api" "mesh" "advertise" "parent" "link" "labels" "spaces" "access" "logLevel" -}}
{{- range $field := ternary (append $written "encryption") $written (ne $node.encryption.secretName "") -}}
{{- if hasKey $node.config $field -}}
{{- fail (printf "node.config.%s: the chart writes this field: use the values of the chart" $field) -}}
{{- end -}}
{{- end -}}
{{- end }}
