/** The accepted differences between a workload space and a real API server, each with its reason. Tests find entries that no answer needs any more. */
import type { RawRequest } from './raw-requests.ts';

export interface AcceptedCommand {
  /** Whole lines of test/fixtures/sessions. */
  readonly commands: readonly string[];
  readonly reason: string;
  /** Texts that are removed from both answers. Absent: the exit codes and the outputs are compared, and the error outputs are not. */
  readonly without?: readonly RegExp[];
  /** True: nothing is compared. */
  readonly otherAnswer?: boolean;
}

interface AcceptedRequest {
  readonly requests: readonly RegExp[];
  readonly reason: string;
}

const applied = "sed 's/, labels: {app: web}}$/}/' web.yaml | kubectl apply -f - -o json";
const forced = "sed 's/replicas: 2/replicas: 5/' web.yaml | kubectl apply --server-side -f - --force-conflicts -o yaml";
const shown = 'kubectl get deployment web -o yaml --show-managed-fields';
const teamDryRun = 'kubectl apply --server-side -f web.yaml --field-manager=team --dry-run=server -o json';
const labelled = 'kubectl label configmap settings a=b --dry-run=server -o yaml';
const ran = 'kubectl run shell --image=busybox --labels=a=b --env=A=B --port=80 --restart=Never -o yaml -- sleep 5';
const cargo = 'the objects of a workload space are cargo: what they do, they do at edge clusters';
const ofCluster = 'the admission and the controllers of each cluster add the rest of the object';

export const acceptedCommands: readonly AcceptedCommand[] = [
  {
    commands: ['kubectl api-versions'],
    reason:
      'a space has the kinds of the mesh, and no devices (dynamic resource allocation), which no workload in a space uses',
    without: [/edge\.banyan\.io\/v1alpha1\n/g, /resource\.k8s\.io\/v1\n/g],
  },
  {
    commands: [
      'kubectl api-resources --api-group= --namespaced=false --no-headers',
      'kubectl get componentstatuses none',
    ],
    reason:
      'ComponentStatus has been deprecated since 1.19: its answers are about processes that a space does not have',
    without: [/^.*componentstatus.*\n/gim],
  },
  {
    commands: [
      `kubectl patch deployment web --type=json -p '[{"op":"test","path":"/spec/replicas","value":9}]'`,
      `kubectl patch deployment web --type=json -p '[{"op":"remove","path":"/spec/none"}]'`,
      `kubectl patch deployment web --type=json -p '[{"op":"nothing","path":"/spec"}]'`,
      `kubectl patch deployment web -p '{"spec":{"template":{"spec":{"containers":[{"image":"b"}]}}}}'`,
      `kubectl patch deployment web -p '{"spec":{"template":{"spec":{"containers":[{"name":"web","$patch":"nothing"}]}}}}'`,
      `kubectl patch deployment web --subresource=none --type=merge -p '{}'`,
      "kubectl get --raw '/api/v1/namespaces/read/configmaps?limit=x'",
      "kubectl get --raw '/api/v1/namespaces/read/configmaps?continue=x'",
      "kubectl get --raw '/api/v1/namespaces/read/configmaps?resourceVersion=x'",
      'kubectl get pods --field-selector spec.none=a',
      'kubectl get --raw /api/v1/namespaces/pods/pods/app/none',
      'kubectl get configmaps --as=nobody',
      'kubectl create configmap x --as=nobody',
      'kubectl get nodes --as=nobody',
    ],
    reason: 'the message names what is wrong and what is right, where Kubernetes says less or shows a Go value',
  },
  {
    commands: [
      `kubectl patch deployment web --type=merge -p '{"spec":{"replicas":"many"}}'`,
      `kubectl patch configmap settings --type=merge -p '{"data":{"a":1}}'`,
      "sed 's/replicas: 2/replicas: 1.5/' web.yaml | kubectl apply -f -",
      String.raw`sed 's/^spec:/nothing: 1\nspec:/' web.yaml | kubectl apply -f -`,
      `sed 's/colour: green/colour: {a: b}/' web.yaml | kubectl apply --server-side -f - --field-manager=team`,
      `echo '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"settings","uid":"b"}}' | kubectl replace -f -`,
    ],
    reason: 'the message of Kubernetes repeats the whole object or patch; here it names the value and the field',
  },
  {
    commands: [
      `kubectl patch pod walker -p '{"spec":{"nodeName":"elsewhere"}}'`,
      `kubectl patch pod app -p '{"spec":{"containers":[{"name":"app","command":["x"]}]}}'`,
      `kubectl patch pod app -p '{"spec":{"nodeName":"two"}}'`,
    ],
    reason: 'Kubernetes adds a difference of Go values',
    without: [/\n?@@[\s\S]*$/g, /\s+$/g],
  },
  {
    commands: [
      'kubectl create token robot --duration=5s',
      'kubectl create token none',
      'kubectl logs app',
      'kubectl exec app -c none -- true',
    ],
    reason: cargo,
  },
  {
    commands: [
      'kubectl get apiservices v1.apps',
      "kubectl get flowschemas exempt -o jsonpath='{.spec}'",
      'kubectl get prioritylevelconfigurations',
    ],
    reason: `${cargo}; an API server makes such objects for itself`,
    otherAnswer: true,
  },
  {
    commands: ['kubectl create service nodeport np2 --tcp=80:8080 --node-port=80'],
    reason: 'each cluster has a range of node ports of its own',
    otherAnswer: true,
  },
  {
    commands: ['kubectl get all'],
    reason: 'each cluster has node ports of its own: the space accepted np2, and the API server chose a port for lb',
    without: [/^service\/np2 .*\n/gm, /(?<=^service\/lb .* 80):\d+/gm],
  },
  {
    commands: ['kubectl describe node one', "kubectl get nodes one -o jsonpath='{.spec}'"],
    reason: 'a new node is tainted by the admission of a cluster until it is ready; a space fills in no podCIDRs',
    without: [/^(Taints|PodCIDRs):.*\n/gm, /"podCIDRs":\[[^\]]*\],?/g, /,?"taints":\[[^\]]*\]/g],
  },
  {
    commands: [
      'kubectl apply -f web.yaml -o yaml',
      applied,
      forced,
      shown,
      teamDryRun,
      'kubectl get hpa web -o yaml',
      'kubectl get hpa two -o yaml --show-managed-fields',
      'kubectl get hpa.v1.autoscaling two -o yaml --show-managed-fields',
      'kubectl get cronjob often -o yaml',
    ],
    reason: 'Go writes some empty fields: a struct, and a list or number of a status',
    without: [
      /^ *(resources|status): \{\}\n/gm,
      /^status:\n {2}(currentMetrics: null|currentReplicas: 0)\n {2}desiredReplicas: 0\n/gm,
      /"resources":\{\},/g,
      /,"status":\{\}/g,
    ],
  },
  {
    commands: [
      labelled,
      "kubectl get deployment web -o jsonpath='{.spec.strategy}{.spec.template.spec.containers}{.metadata.labels}'",
    ],
    reason: 'a space keeps an empty map or list that a patch leaves behind; Go does not write it',
    without: [/^data: \{\}\n/gm, /"(f:)?data":\{\},/g, /"ports":\[\],/g],
  },
  {
    commands: [shown],
    reason: 'which manager owns an empty struct, and a struct or list itself, differs in the entry of an update',
    without: [/^ *(f:resources|\.): \{\}\n/gm],
  },
  {
    commands: [ran],
    reason: ofCluster,
    without: [
      / {4}volumeMounts:\n( {4}[- ] .*\n)+/g,
      /^ {2}(preemptionPolicy|priority|serviceAccount|serviceAccountName|qosClass): .*\n/gm,
      / {2}(tolerations|volumes):\n( {2}[- ] .*\n)+/g,
    ],
  },
  {
    commands: ['kubectl run dry --image=busybox --dry-run=server -o json'],
    reason: ofCluster,
    without: [
      /,"volumeMounts":\[.*?\]/g,
      /"preemptionPolicy":"PreemptLowerPriority","priority":0,/g,
      /"serviceAccount":"default","serviceAccountName":"default",/g,
      /,"tolerations":\[.*?\],"volumes":\[.*\](?=\},"status")/g,
      /,"qosClass":"BestEffort"/g,
    ],
  },
  {
    commands: [
      "kubectl get pods shell -o jsonpath='{.status.phase}/{.status.qosClass}/{.spec.restartPolicy}/{.spec.tolerations}'",
    ],
    reason: ofCluster,
    without: [/BestEffort/g, /\[\{"effect".*\]/g],
  },
  {
    commands: ['kubectl describe pod shell', 'kubectl describe pods -l a=b'],
    reason: ofCluster,
    without: [
      /^(Priority|Service Account):.*\n/gm,
      / {4}Mounts:[\s\S]*?(?=^QoS)/gm,
      /^Tolerations:[\s\S]*?(?=^Events)/gm,
    ],
  },
  {
    commands: ['kubectl describe job once'],
    reason: 'the selector and the labels have the uid of the Job, and each cluster gives another uid',
    without: [/^Selector:.*\n/gm, /Labels:.*\n( +\S*=\S*\n)*/g],
  },
  {
    commands: ['kubectl describe ds logs', 'kubectl describe pvc disk', 'kubectl describe pv disk-read'],
    reason: 'controllers of each cluster count the templates, and protect volumes that are used',
    without: [/^Annotations: .*\n/gm, /(?<=^Finalizers: +\[).*(?=\])/gm],
  },
  {
    commands: [
      `kubectl patch deployment web --type=merge -p '{"spec":{"none":1}}'`,
      `kubectl patch deployment web --type=merge -p '{"spec":{"none":null}}'`,
    ],
    reason:
      'a space keeps unknown fields of a patch, with a warning: the API server of a cluster may be newer and know them',
    without: [/ \(no change\)/g],
  },
  {
    commands: [String.raw`sed 's/^spec:/nothing: 1\nspec:/' web.yaml | kubectl apply -f - --validate=ignore`],
    reason: 'a space keeps unknown fields: the same unknown field is no change, where Kubernetes has dropped it before',
    without: [/(?<=deployment\.apps\/web )(unchanged|configured)/g],
  },
  {
    commands: ["kubectl get --raw '/api/v1/namespaces/read/configmaps?limit=1&labelSelector=tier%3Dfront'"],
    reason:
      'a space knows that nothing follows, where Kubernetes would look for more at the next request; items name their kind, as the list does',
    without: [/"continue":"TOKEN",/g, /"apiVersion":"v1",(?="data")/g, /"kind":"ConfigMap",/g],
  },
  {
    commands: ['kubectl get --raw /api', 'kubectl get --raw /apis/policy/v1', 'kubectl get --raw /apis/autoscaling/v1'],
    reason: 'no client needs the addresses of an API server, or the hashes of the versions that a server stores',
    without: [/"serverAddressByClientCIDRs":\[[^\]]*\],/g, /"storageVersionHash":"[^"]*",/g],
  },
  {
    commands: ["kubectl get --raw '/readyz?verbose' | tail -1"],
    reason: 'a node has one check of its readiness',
    without: [/^(ok|readyz check passed\n)$/g],
  },
  {
    commands: ["kubectl get --raw '/openapi/v3/api/v1' | head -c 60"],
    reason: 'the version of the document is that of the server',
    without: [/(?<="version":").$/g],
  },
  {
    commands: [
      'kubectl get endpointslices,endpoints',
      'kubectl apply -k shop --prune -l app=shop',
      'kubectl apply -f web.yaml --prune -l app=web',
      'kubectl describe service np',
      'kubectl describe service none',
      'kubectl describe ingress door',
    ],
    reason: 'a workload space sends no warning for a deprecated kind that is only read',
    without: [/Warning: v1 Endpoints is deprecated.*\n/g],
  },
  {
    commands: ['kubectl auth can-i --list -n read --as=nobody', 'kubectl auth can-i get /healthz --as=nobody'],
    reason: 'nobody without a grant learns anything of a space; Kubernetes shows its version and health to everybody',
    otherAnswer: true,
  },
  {
    commands: ['kubectl auth whoami'],
    reason: 'certificates are no identities of their own in a space',
    without: [/^Extra: .*\n/gm],
  },
  {
    commands: ['kubectl auth whoami --as=nobody --as-group=g -o yaml'],
    reason: 'Kubernetes gives the answer a time, which means nothing',
    without: [/^metadata:( \{\}|\n {2}creationTimestamp: "TIME")\n/gm],
  },
];

/** A request is written as method, path, media type (of the answer, or else of the body) and body, with one space between them. */
export const acceptedRequests: readonly AcceptedRequest[] = [
  {
    requests: [/ \/apis\/resource\.k8s\.io\//, / \/api\/v1\/componentstatuses/],
    reason: 'a space has no devices (dynamic resource allocation), and no processes with a ComponentStatus',
  },
  {
    requests: [/^GET \/ /, /^GET \/apis\/? /, /^GET \/api\/v1 /, /^GET \/apis\/apps\/v1 /, /^GET \/version /],
    reason: 'a space has other groups, subresources and a version of its own, in another order',
  },
  {
    requests: [/^GET \/(apis\/)?nothing /, /^GET \/metrics\/x /],
    reason: 'a missing path is a Status here, and a page of text there',
  },
  {
    requests: [/^GET \/api\/v1\/(nothings|namespaces\/absent\/nothing) /],
    reason: 'the details of the refusal name the resource',
  },
  {
    requests: [/^NOTHING /],
    reason: 'the HTTP server of Node refuses an unknown method before the space sees the request',
  },
  {
    requests: [
      /^POST .*"resourceVersion":"1"/,
      /^GET .*\/one\?resourceVersion=x /,
      /^DELETE .* (\{"kind":"Nothing"\}|\{)$/,
    ],
    reason: 'a wrong request is answered 400, and not 500 as a fault of the server',
  },
  {
    requests: [/"generateName":"Bad_"/],
    reason: 'the name that was made is refused, and Kubernetes refuses generateName too',
  },
  {
    requests: [
      /^POST .*\/(api\/v1\/.*\/events|certificatesigningrequests|poddisruptionbudgets) .*"Bad_"\},"none":1\}$/,
    ],
    reason: 'Kubernetes takes any name of these kinds',
  },
  {
    requests: [/^POST .*\/(jobs|customresourcedefinitions) .*"Bad_"\},"none":1\}$/],
    reason: 'Kubernetes refuses the name a second time: as a label of the Job, and as the name of another group',
  },
  {
    requests: [/^POST .*\/(cluster)?roles .*"Bad_"\},"none":1\}$/],
    reason: 'a space keeps unknown fields, and Go writes absent rules as null',
  },
  {
    requests: [/^POST \/apis\/events\.k8s\.io\/.*"Bad_"/],
    reason: 'the details of a refusal name the group in which Events are stored, or the one of the request',
  },
  {
    requests: [/"preconditions"/],
    reason: 'the details of a refusal name the resource, and not the kind',
  },
  { requests: [/[?&]includeObject=None/], reason: 'a row without its object has no field for the object' },
  {
    requests: [/\?watch=true.*&resourceVersion=1&/],
    reason: 'the history of a space begins later than its first revision, so a watch from the first one has expired',
  },
];

/** The pattern of the request. Undefined: no difference is accepted. */
export function acceptedRequest({ method, path, sent = '', headers = {} }: RawRequest): RegExp | undefined {
  const text = `${method} ${path} ${headers.accept ?? headers['content-type'] ?? ''} ${sent}`;
  return acceptedRequests.flatMap(({ requests }) => requests).find((request) => request.test(text));
}
