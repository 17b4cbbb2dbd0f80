{{/* Names and the configuration of a center or a relay. docs/reference/node.md describes the fields. */}}

{{- define "banyan.node.proxySecret" -}}
{{- if eq .Values.role "relay" -}}
{{- if .Values.relay.proxy.secretName -}}
{{ .Values.relay.proxy.secretName }}
{{- else if .Values.relay.proxy.url -}}
{{ include "banyan.name" . }}-proxy
{{- end -}}
{{- end -}}
{{- end }}

{{- define "banyan.node.tokenSecret" -}}
{{ .Values.relay.identity.joinTokenSecretName | default (printf "%s-join-token" (include "banyan.name" .)) }}
{{- end }}

{{/* The names that the certificate of the API has to have, as a list in JSON. A relay gets only those that its parent admits, so the Service is not among them. */}}
{{- define "banyan.node.names" -}}
{{- $name := include "banyan.name" . -}}
{{- $inCluster := list $name (printf "%s.%s" $name .Release.Namespace) (printf "%s.%s.svc" $name .Release.Namespace) -}}
{{- toJson (ternary (uniq (concat .Values.names $inCluster)) .Values.names (eq .Values.role "center")) -}}
{{- end }}

{{/* Where users reach the API, and where children reach the node. Without anything that leads to the node from outside, the Service, for users and children in the same cluster. */}}
{{- define "banyan.node.address" -}}
{{- $node := .root.Values.node -}}
{{- $host := "" -}}
{{- range $way := list $node.ingress $node.gateway -}}
{{- if $way.enabled -}}
{{- $host = $host | default (index $way (printf "%sHost" $.field)) -}}
{{- end -}}
{{- end -}}
{{- $first := first .root.Values.names | default (printf "%s.%s.svc" (include "banyan.name" .root) .root.Release.Namespace) -}}
{{- $direct := printf "%s:%d" (ternary (printf "[%s]" $first) $first (contains ":" $first)) (index $node.service (printf "%sPort" .field) | int) -}}
{{- index .root.Values.advertise .field | default (ternary (printf "%s:443" $host) $direct (ne $host "")) -}}
{{- end }}

{{- define "banyan.node.config" -}}
{{- $node := .Values.node -}}
{{- $config := dict "path" (ternary "" .Values.relay.path (eq .Values.role "center")) "data" "/data" "logLevel" $node.logLevel -}}
{{- $_ := set $config "api" (dict "host" $node.api.host "port" (int $node.api.port)) -}}
{{- $_ := set $config "mesh" (dict "host" $node.mesh.host "port" (int $node.mesh.port) "terminatedTls" $node.mesh.terminatedTls) -}}
{{- $_ := set $config "advertise" (dict "api" (include "banyan.node.address" (dict "root" . "field" "api")) "mesh" (include "banyan.node.address" (dict "root" . "field" "mesh"))) -}}
{{- $_ := set $config "labels" $node.labels -}}
{{- $_ := set $config "spaces" $node.spaces -}}
{{- if $node.encryption.secretName -}}
{{- $_ := set $config "encryption" (dict "keyFile" "/etc/banyan/encryption/keys") -}}
{{- end -}}
{{- if eq .Values.role "center" -}}
{{- if .Values.center.tree -}}
{{- $_ := set $config "pki" (dict "tree" .Values.center.tree "names" (include "banyan.node.names" . | fromJsonArray)) -}}
{{- else -}}
{{- $files := "/etc/banyan/authority" -}}
{{- $issuer := dict "cert" (printf "%s/issuer.crt" $files) "key" (printf "%s/issuer.key" $files) -}}
{{- $users := dict "ca" (printf "%s/users.crt" $files) -}}
{{- $_ := set $config "pki" (dict "ca" (printf "%s/ca.crt" $files) "cert" (printf "%s/tls.crt" $files) "key" (printf "%s/tls.key" $files) "subtreeIssuer" $issuer "users" $users) -}}
{{- end -}}
{{- else -}}
{{- $relay := .Values.relay -}}
{{- $parent := dict "address" $relay.parent.address "path" (join ":" (initial (splitList ":" $relay.path))) -}}
{{- if $relay.parent.replicas -}}
{{- $_ := set $parent "replicas" $relay.parent.replicas -}}
{{- end -}}
{{- $_ := set $config "parent" $parent -}}
{{- $_ := set $config "access" $node.access -}}
{{- $pki := dict "joinToken" "/etc/banyan/join/token" "names" (include "banyan.node.names" . | fromJsonArray) -}}
{{- if $node.users.ca -}}
{{- $_ := set $pki "users" (dict "ca" "/etc/banyan/config/users-ca.crt") -}}
{{- end -}}
{{- $_ := set $config "pki" $pki -}}
{{- end -}}
{{ toYaml (merge $config $node.config) }}
{{- if eq .Values.role "relay" }}
{{ include "banyan.configOfLink" .Values.relay }}
{{- end }}
{{- end }}
