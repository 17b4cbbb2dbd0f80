{{/* Names and checks that all roles share. */}}

{{- define "banyan.name" -}}
{{- if gt (len .Release.Name) 53 -}}
{{- fail (printf "the name of the release, %s, is longer than 53 characters: choose a shorter one" .Release.Name) -}}
{{- end -}}
{{- .Release.Name -}}
{{- end }}

{{- define "banyan.selector" -}}
app.kubernetes.io/name: banyan-{{ .Values.role }}
app.kubernetes.io/instance: {{ include "banyan.name" . | quote }}
{{- end }}

{{- define "banyan.labels" -}}
{{ include "banyan.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "banyan.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end }}

{{/* The values of the role: `agent`, or `node` for a center and a relay. */}}
{{- define "banyan.part" -}}
{{- ternary "agent" "node" (eq .Values.role "agent") -}}
{{- end }}

{{- define "banyan.security" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}

{{- define "banyan.checkAddress" -}}
{{- $port := .address | splitList ":" | last | atoi -}}
{{- if or (lt $port 1) (gt $port 65535) (not (regexMatch "^([A-Za-z0-9]([-A-Za-z0-9.]*[A-Za-z0-9])?|\\[[0-9a-fA-F:.]+\\]):[0-9]{1,5}$" .address)) -}}
{{- fail (printf "%s: %q is no address: host:port is needed, such as relay.example.com:7443 or [2001:db8::1]:7443, without https://" .field .address) -}}
{{- end -}}
{{- end }}

{{- define "banyan.checkPath" -}}
{{- $label := "[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?" -}}
{{- if not .path -}}
{{- fail (printf "%s is missing: the path of this %s in the tree; --set %s=%s" .field .noun .field .example) -}}
{{- end -}}
{{- if not (regexMatch (printf "^%s(:%s)*$" $label $label) .path) -}}
{{- fail (printf "%s: %q is no path: write names of lower case letters, digits and dashes, joined by colons, such as %s" .field .path .example) -}}
{{- end -}}
{{- end }}

{{- define "banyan.checkPort" -}}
{{- if lt (int .port) 1024 -}}
{{- fail (printf "%s: %d: the program runs without root and can't listen there: choose 1024 or more%s" .field (int .port) .remedy) -}}
{{- end -}}
{{- end }}

{{/* Checks of a join token, or of the Secret with one. */}}
{{- define "banyan.checkToken" -}}
{{- if and .identity.joinToken .identity.joinTokenSecretName -}}
{{- fail (printf "%s.identity has a joinToken and a joinTokenSecretName: use only one of the two" .part) -}}
{{- end -}}
{{- if and .identity.joinToken (not (regexMatch "^banyan-join-1\\.[a-z0-9]{10}\\.[-_A-Za-z0-9]{43}\\.[-_A-Za-z0-9]{43}$" .identity.joinToken)) -}}
{{- fail (printf "%s.identity.joinToken is no join token, or not all of it: copy the whole text that `banyan join-token` prints; it begins with banyan-join-1." .part) -}}
{{- end -}}
{{- end }}

{{/* Checks of the link to the parent and of the proxy on the way. */}}
{{- define "banyan.checkLink" -}}
{{- if and .values.link.ca (not (contains "-----BEGIN " .values.link.ca)) -}}
{{- fail (printf "%s.link.ca is no PEM (no -----BEGIN in it): give the file by --set-file %s.link.ca=FILE" .part .part) -}}
{{- end -}}
{{- if and .values.proxy.url .values.proxy.secretName -}}
{{- fail (printf "%s.proxy has a url and a secretName: use only one of the two" .part) -}}
{{- end -}}
{{- if and .values.proxy.url (not (regexMatch "^https?://[^/]+/?$" .values.proxy.url)) -}}
{{- fail (printf "%s.proxy.url is no URL of a proxy: write http://user:password@host:port or https://…" .part) -}}
{{- end -}}
{{- end }}

{{/* Values of another role would have no effect, so they are a mistake. The fields are those without a default. */}}
{{- define "banyan.checkRole" -}}
{{- $both := list "names" "advertise.api" "advertise.mesh" "node.labels" "node.spaces" "node.users.ca" "node.encryption.secretName" "node.config" "node.ingress.enabled" "node.gateway.enabled" -}}
{{- $center := list "center.tree" "center.authority.secretName" -}}
{{- $relay := list "relay.path" "relay.parent.address" "relay.identity.joinToken" "relay.identity.joinTokenSecretName" "relay.link.ca" "relay.proxy.url" "relay.proxy.secretName" -}}
{{- $agent := list "agent.path" "agent.parent.address" "agent.identity.joinToken" "agent.identity.joinTokenSecretName" "agent.identity.secretName" "agent.link.ca" "agent.proxy.url" "agent.proxy.secretName" -}}
{{- $foreign := dict "center" (dict "relay" $relay "agent" $agent) "relay" (dict "center" $center "agent" $agent) "agent" (dict "relay" $relay "center" $center "center or relay" $both) -}}
{{- range $role, $fields := get $foreign .Values.role -}}
{{- range $field := $fields -}}
{{- $value := $.Values -}}
{{- range $key := splitList "." $field -}}{{- $value = index $value $key -}}{{- end -}}
{{- if $value -}}
{{- fail (printf "%s is a value of the role %s, and role is %s, where it has no effect: remove the value, or set role=%s" $field $role $.Values.role (first (splitList " " $role))) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end }}

{{- define "banyan.checkMonitor" -}}
{{- if and .Values.serviceMonitor.enabled (not .Values.serviceMonitor.tokenSecretName) -}}
{{- fail "serviceMonitor.tokenSecretName is missing: metrics need a token; docs/operations/access.md makes one" -}}
{{- end -}}
{{- if and .Values.serviceMonitor.serverName (not .Values.serviceMonitor.caSecretName) -}}
{{- fail "serviceMonitor.serverName: without caSecretName, the certificate is not checked: give the Secret with ca.crt too" -}}
{{- end -}}
{{- end }}

{{/* The link to the parent, for the configuration of a relay or an agent. */}}
{{- define "banyan.configOfLink" -}}
link:
  transport: {{ .link.transport }}
  terminatedTls: {{ .link.terminatedTls }}
  {{- if .link.ca }}
  ca: /etc/banyan/config/link-ca.crt
  {{- end }}
{{- end }}
