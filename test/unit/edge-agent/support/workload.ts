/** A workload with every kind that the embedded cluster runs, and some kinds that it only stores. */
import { parseAllDocuments } from 'yaml';
import type { KubeObject } from '../../../../core/object/meta.ts';

const text = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: beacons.light.example.org}
spec:
  group: light.example.org
  scope: Namespaced
  names: {plural: beacons, singular: beacon, kind: Beacon, listKind: BeaconList}
  versions:
    - name: v1
      served: true
      storage: true
      subresources: {status: {}}
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec:
              type: object
              properties:
                color: {type: string}
                blinkSeconds: {type: integer, default: 5}
            status: {type: object, x-kubernetes-preserve-unknown-fields: true}
---
apiVersion: v1
kind: Namespace
metadata: {name: harbour}
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: lights}
value: 1000
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: harbour-reader}
rules: [{apiGroups: [""], resources: [nodes], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: harbour-reader}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: harbour-reader}
subjects: [{kind: ServiceAccount, name: keeper, namespace: harbour}]
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: keeper, namespace: harbour}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: keeper, namespace: harbour}
rules: [{apiGroups: [""], resources: [configmaps], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: keeper, namespace: harbour}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: keeper}
subjects: [{kind: ServiceAccount, name: keeper, namespace: harbour}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: tides, namespace: harbour}
data: {high: "06:12"}
---
apiVersion: v1
kind: Secret
metadata: {name: codes, namespace: harbour}
type: Opaque
stringData: {gate: open}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: lamp, namespace: harbour, labels: {app: lamp}}
spec:
  replicas: 3
  selector: {matchLabels: {app: lamp}}
  strategy: {rollingUpdate: {maxSurge: 25%, maxUnavailable: 0}}
  template:
    metadata: {labels: {app: lamp}}
    spec:
      priorityClassName: lights
      containers:
        - name: lamp
          image: lamp:1
          ports: [{name: http, containerPort: 8080}]
          resources: {requests: {cpu: 0.1, memory: 128Mi}, limits: {memory: 256Mi}}
          env: [{name: GATE, valueFrom: {secretKeyRef: {name: codes, key: gate}}}]
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: log, namespace: harbour}
spec:
  serviceName: log
  replicas: 2
  selector: {matchLabels: {app: log}}
  template:
    metadata: {labels: {app: log}}
    spec: {containers: [{name: log, image: "log:1", volumeMounts: [{name: data, mountPath: /data}]}]}
  volumeClaimTemplates:
    - metadata: {name: data}
      spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: horn, namespace: harbour}
spec:
  selector: {matchLabels: {app: horn}}
  template:
    metadata: {labels: {app: horn}}
    spec: {containers: [{name: horn, image: "horn:1"}]}
---
apiVersion: batch/v1
kind: Job
metadata: {name: survey, namespace: harbour}
spec:
  template:
    spec: {restartPolicy: Never, containers: [{name: survey, image: "survey:1"}]}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: dusk, namespace: harbour}
spec:
  schedule: "15 21 * * *"
  timeZone: Europe/Lisbon
  jobTemplate:
    spec:
      template:
        spec: {restartPolicy: OnFailure, containers: [{name: dusk, image: "dusk:1"}]}
---
apiVersion: v1
kind: Service
metadata: {name: lamp, namespace: harbour}
spec: {selector: {app: lamp}, ports: [{name: http, port: 80, targetPort: http}]}
---
apiVersion: v1
kind: Service
metadata: {name: log, namespace: harbour}
spec: {clusterIP: None, selector: {app: log}, ports: [{name: sql, port: 5432}]}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: lamp, namespace: harbour}
spec:
  rules:
    - host: lamp.example.org
      http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: lamp, port: {name: http}}}}]}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: log, namespace: harbour}
spec: {podSelector: {matchLabels: {app: log}}, ingress: [{ports: [{port: sql}]}]}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: lamp, namespace: harbour}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: lamp}
  maxReplicas: 6
  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 70}}}]
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: lamp, namespace: harbour}
spec: {minAvailable: 1, selector: {matchLabels: {app: lamp}}}
---
apiVersion: light.example.org/v1
kind: Beacon
metadata: {name: north, namespace: harbour}
spec: {color: green}
`;

export const workload: readonly KubeObject[] = parseAllDocuments(text).map((one) => one.toJS() as KubeObject);
