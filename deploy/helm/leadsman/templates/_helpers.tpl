{{- define "leadsman.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "leadsman.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else if contains (include "leadsman.name" .) .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "leadsman.name" .) | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "leadsman.selector" -}}
app.kubernetes.io/name: {{ include "leadsman.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "leadsman.labels" -}}
{{ include "leadsman.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "leadsman.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "leadsman.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "leadsman.image" -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) -}}
{{- end -}}
{{- end -}}

{{- define "leadsman.secret" -}}
{{- default (printf "%s-sources" (include "leadsman.fullname" .)) .Values.existingSecret -}}
{{- end -}}

{{- define "leadsman.tlsSecret" -}}
{{- if .Values.grpc.tls.certManager.enabled -}}
{{- printf "%s-tls" (include "leadsman.fullname" .) -}}
{{- else -}}
{{- .Values.grpc.tls.existingSecret -}}
{{- end -}}
{{- end -}}

{{/* The configuration file: the values' sources with their secrets taken out. */}}
{{- define "leadsman.config" -}}
{{- $sources := dict -}}
{{- range $name, $source := .Values.sources -}}
{{- $s := omit $source "url" "listenURL" "listenURLFromSecret" -}}
{{- if not (hasKey $s "urlFile") -}}
{{- $s = set $s "urlFile" (printf "/etc/leadsman/sources/%s-url" $name) -}}
{{- end -}}
{{- if or (hasKey $source "listenURL") ($source.listenURLFromSecret) -}}
{{- $s = set $s "listenURLFile" (printf "/etc/leadsman/sources/%s-listen-url" $name) -}}
{{- end -}}
{{- $_ := set $sources $name $s -}}
{{- end -}}
{{- $grpc := dict "listen" (printf "0.0.0.0:%d" (int .Values.grpc.port)) -}}
{{- if include "leadsman.tlsSecret" . -}}
{{- $tls := dict "certFile" "/etc/leadsman/tls/tls.crt" "keyFile" "/etc/leadsman/tls/tls.key" -}}
{{- if .Values.grpc.tls.requireClientCertificate -}}
{{- $tls = set $tls "clientCAFile" "/etc/leadsman/tls/ca.crt" -}}
{{- end -}}
{{- $grpc = set $grpc "tls" $tls -}}
{{- end -}}
{{- $config := dict "grpc" $grpc "sources" $sources "log" .Values.log
      "http" (dict "listen" (printf "0.0.0.0:%d" (int .Values.http.port)) "auth" .Values.http.auth) -}}
{{- range $key := list "tokens" "clients" "sampling" -}}
{{- with index $.Values $key -}}
{{- $_ := set $config $key . -}}
{{- end -}}
{{- end -}}
{{- if .Values.allowInsecure -}}
{{- $_ := set $config "allowInsecure" true -}}
{{- end -}}
{{- toYaml $config -}}
{{- end -}}

{{/* The keys of the Secret with the URLs, and the files that they become. */}}
{{- define "leadsman.secretItems" -}}
{{- $items := list -}}
{{- range $name, $source := .Values.sources -}}
{{- if not (hasKey $source "urlFile") -}}
{{- $items = append $items (dict "key" (printf "%s-url" $name) "path" (printf "sources/%s-url" $name)) -}}
{{- end -}}
{{- if or (hasKey $source "listenURL") ($source.listenURLFromSecret) -}}
{{- $items = append $items (dict "key" (printf "%s-listen-url" $name) "path" (printf "sources/%s-listen-url" $name)) -}}
{{- end -}}
{{- end -}}
{{- toYaml $items -}}
{{- end -}}
