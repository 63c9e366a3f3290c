{{- define "headrace.name" -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{- define "headrace.image" -}}
{{- printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) -}}
{{- end -}}

{{- define "headrace.secretName" -}}
{{- .Values.existingSecret | default (include "headrace.name" .) -}}
{{- end -}}

{{- define "headrace.labels" -}}
app.kubernetes.io/part-of: headrace
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{/* Labels that select the pods of a process. Call with (dict "root" $ "process" "api"). */}}
{{- define "headrace.selector" -}}
app.kubernetes.io/name: headrace-{{ .process }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
{{- end -}}

{{/* Every setting but the secret ones, as in .env.example. */}}
{{- define "headrace.settings" -}}
{{- $own := dict
  "HOST" "0.0.0.0"
  "METRICS_HOST" "0.0.0.0"
  "API_METRICS_PORT" "9464"
  "INGRESS_METRICS_PORT" "9464"
  "PROCESSOR_METRICS_PORT" "9464"
  "EXECUTOR" "kubernetes"
  "KUBERNETES_NAMESPACE" .root.Values.runs.namespace
  "KUBERNETES_RUNNER_IMAGE" (include "headrace.image" .root)
  "KUBERNETES_DEFAULT_IMAGE" .root.Values.runs.defaultImage
  "RUNNER_API_URL" (printf "http://%s-api.%s.svc:3000" (include "headrace.name" .root) .root.Release.Namespace)
-}}
{{- range $name, $value := mergeOverwrite $own .root.Values.settings (.settings | default dict) }}
{{- /* Numbers of values files are floats, which would be written as 1e+06. */}}
{{- $text := toString (ternary (int64 $value) $value (kindIs "float64" $value)) }}
{{- if ne $text "" }}
- name: {{ $name }}
  value: {{ $text | quote }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "headrace.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
seccompProfile: { type: RuntimeDefault }
{{- end -}}

{{- define "headrace.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end -}}

{{- define "headrace.volumes" -}}
- { name: data, emptyDir: {} }
- { name: tmp, emptyDir: {} }
{{- end -}}

{{- define "headrace.volumeMounts" -}}
- { name: data, mountPath: /var/lib/headrace }
- { name: tmp, mountPath: /tmp }
{{- end -}}
