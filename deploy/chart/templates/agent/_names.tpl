{{/* Names and the configuration of the agent, which several templates use. */}}

{{/* The name of objects without a namespace. It contains the namespace of the release, so that two releases with one name have different objects. */}}
{{- define "banyan.agent.clusterName" -}}
{{ .Release.Namespace }}-{{ include "banyan.name" . }}
{{- end }}

{{- define "banyan.agent.identitySecret" -}}
{{ .Values.agent.identity.secretName | default (printf "%s-identity" (include "banyan.name" .)) }}
{{- end }}

{{/* The Secret with the join token. Empty: the agent has no join token. */}}
{{- define "banyan.agent.tokenSecret" -}}
{{- if .Values.agent.identity.joinTokenSecretName -}}
{{ .Values.agent.identity.joinTokenSecretName }}
{{- else if .Values.agent.identity.joinToken -}}
{{ include "banyan.name" . }}-join-token
{{- end -}}
{{- end }}

{{/* The Secret in which the pods keep their key, and the certificate that they got with the join token. */}}
{{- define "banyan.agent.joinedSecret" -}}
{{ include "banyan.name" . }}-joined
{{- end }}

{{/* The Secret that the pods may change. It has the certificate that they got with a join token, or that they renew. Empty: the pods may change no Secret. */}}
{{- define "banyan.agent.ownSecret" -}}
{{- if include "banyan.agent.tokenSecret" . -}}
{{ include "banyan.agent.joinedSecret" . }}
{{- else if and .Values.agent.identity.secretName .Values.agent.identity.renew -}}
{{ .Values.agent.identity.secretName }}
{{- end -}}
{{- end }}

{{- define "banyan.agent.ownSecretRole" -}}
{{ if include "banyan.agent.tokenSecret" . }}{{ include "banyan.agent.joinedSecret" . }}{{ else }}{{ include "banyan.name" . }}-identity{{ end }}
{{- end }}

{{- define "banyan.agent.proxySecret" -}}
{{- if .Values.agent.proxy.secretName -}}
{{ .Values.agent.proxy.secretName }}
{{- else if .Values.agent.proxy.url -}}
{{ include "banyan.name" . }}-proxy
{{- end -}}
{{- end }}

{{- define "banyan.agent.leaseName" -}}
{{ .Values.agent.lease.name | default (include "banyan.name" .) }}
{{- end }}

{{- define "banyan.agent.leaseNamespace" -}}
{{ .Values.agent.lease.namespace | default .Release.Namespace }}
{{- end }}

{{/* The configuration of the agent. edge-agent/config/config.ts describes the fields. */}}
{{- define "banyan.agent.config" -}}
{{- $agent := .Values.agent -}}
{{- $names := splitList ":" $agent.path -}}
path: {{ $agent.path | quote }}
data: /data
logLevel: {{ $agent.logLevel }}
parent:
  address: {{ $agent.parent.address | quote }}
  path: {{ join ":" (initial $names) | quote }}
  {{- with $agent.parent.replicas }}
  replicas: {{ toJson . }}
  {{- end }}
{{ include "banyan.configOfLink" $agent }}
pki:
  {{- if include "banyan.agent.tokenSecret" . }}
  joinToken: /etc/banyan/join/token
  {{- else }}
  ca: /etc/banyan/identity/ca.crt
  cert: /etc/banyan/identity/tls.crt
  key: /etc/banyan/identity/tls.key
  {{- end }}
  {{- with include "banyan.agent.ownSecret" . }}
  secret:
    namespace: {{ $.Release.Namespace | quote }}
    name: {{ . | quote }}
  {{- end }}
  {{- if $agent.users.ca }}
  users:
    ca: /etc/banyan/config/users-ca.crt
  {{- end }}
api:
  host: {{ $agent.api.host | quote }}
  port: {{ int $agent.api.port }}
limits:
  deletions:
    entries: {{ int64 $agent.deletions.entries }}
    fraction: {{ toJson $agent.deletions.fraction }}
access:
  fromAbove: {{ $agent.access.fromAbove | quote }}
  metrics: {{ toJson $agent.access.metrics }}
{{- if $agent.encryption.secretName }}
encryption:
  resources: {{ toJson $agent.encryption.resources }}
  keyFile: /etc/banyan/encryption/keys
{{- end }}
{{- if kindIs "slice" $agent.accept }}
accept: {{ toJson $agent.accept }}
{{- end }}
{{- with $agent.streams }}
{{- if .users }}
streams:
  cluster:
    users: {{ toJson .users }}
    groups: {{ toJson .groups }}
{{- end }}
{{- end }}
cluster:
  kubernetes:
    {{- if $agent.cluster.uid }}
    uid: {{ $agent.cluster.uid | quote }}
    {{- end }}
    lease:
      namespace: {{ include "banyan.agent.leaseNamespace" . | quote }}
      name: {{ include "banyan.agent.leaseName" . | quote }}
    limits:
      requestsPerSecond: {{ toJson $agent.cluster.requestsPerSecond }}
      inFlight: {{ int64 $agent.cluster.inFlight }}
      inFlightBytes: {{ toJson $agent.cluster.inFlightBytes }}
{{- end }}
