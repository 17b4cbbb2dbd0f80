/** The accepted differences between a workload space and a real API server, each with its reason. */
import type { RawRequest } from './raw-requests.ts';

interface AcceptedCommand {
  /** The commands that have the difference: all that begin with one of these texts. */
  readonly commands: readonly string[];
  readonly reason: string;
  /** Texts that are removed from both answers. Absent: only the exit codes are compared. */
  readonly without?: readonly RegExp[];
  /** True: the exit codes differ too. */
  readonly otherCode?: boolean;
}

interface AcceptedRequest {
  readonly requests: readonly RegExp[];
  readonly reason: string;
}

const stored =
  'a space stores what users wrote; the API server of each cluster fills in its defaults, and controllers there do the rest';
const remedy = 'the message names what is wrong and what is right, where Kubernetes says less';
const repeated = 'the message of Kubernetes repeats the whole object or patch; here it names the value and the field';
const cargo = 'the objects of a workload space are cargo: what they do, they do at edge clusters';

export const acceptedCommands: readonly AcceptedCommand[] = [
  {
    commands: ['kubectl api-versions'],
    reason:
      'a space has the kinds of the mesh, and no devices (dynamic resource allocation), which no workload in a space uses',
    without: [/edge\.banyan\.io\/v1alpha1\n/g, /resource\.k8s\.io\/v1\n/g],
  },
  {
    commands: ['kubectl api-resources --api-group= ', 'kubectl get componentstatuses'],
    reason:
      'ComponentStatus has been deprecated since 1.19: its answers are about processes that a space does not have',
    without: [/componentstatuses .*\n/g, / +/g, /.*ComponentStatus.*\n/g, /^.*componentstatus.*\n/gm],
  },
  {
    commands: [
      `kubectl patch deployment web --type=json -p '[{"op":"test"`,
      `kubectl patch deployment web --type=json -p '[{"op":"remove","path":"/spec/none"`,
      `kubectl patch deployment web --type=json -p '[{"op":"nothing"`,
      `kubectl patch deployment web --type=json -p '{"a":1}'`,
      `kubectl patch deployment web -p '{"spec":{"template":{"spec":{"containers":[{"image":"b"}`,
      `kubectl patch deployment web -p '{"spec":{"template":{"spec":{"containers":[{"name":"web","$patch":"nothing"`,
      'kubectl patch deployment web --subresource=none',
      "kubectl get --raw '/api/v1/namespaces/read/configmaps?limit=x",
      "kubectl get --raw '/api/v1/namespaces/read/configmaps?continue=x",
      "kubectl get --raw '/api/v1/namespaces/read/configmaps?resourceVersion=x",
      'kubectl get pods --field-selector spec.none=a',
      'kubectl get --raw /api/v1/namespaces/pods/pods/app/none',
      'kubectl get configmaps --as=nobody',
      'kubectl create configmap x --as=nobody',
      'kubectl get nodes --as=nobody',
    ],
    reason: remedy,
  },
  {
    commands: [
      `kubectl patch deployment web --type=merge -p '{"spec":{"replicas":"many"}}'`,
      `kubectl patch configmap settings --type=merge -p '{"data":{"a":1}}'`,
      "sed 's/replicas: 2/replicas: 1.5/'",
      String.raw`sed 's/^spec:/nothing: 1\nspec:/' web.yaml | kubectl apply -f -`,
      `sed 's/colour: green/colour: {a: b}/'`,
      `kubectl patch pod app -p '{"spec":{"containers":[{"name":"app","command"`,
      `kubectl patch pod app -p '{"spec":{"nodeName"`,
      `echo '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"settings","uid":"b"}}' | kubectl replace`,
    ],
    reason: repeated,
  },
  {
    commands: [`kubectl patch pod walker -p '{"spec":{"nodeName"`],
    reason: 'Kubernetes adds a difference of Go values',
    without: [/\n?@@[\s\S]*$/g, /\s+$/g],
  },
  {
    commands: ['kubectl create token', 'kubectl logs app', 'kubectl exec app'],
    reason: cargo,
  },
  {
    commands: [
      'kubectl debug app',
      'kubectl delete pods --all --force',
      'kubectl get apiservices v1.apps',
      'kubectl get flowschemas exempt',
      'kubectl get prioritylevelconfigurations',
    ],
    reason: `${cargo}; an API server makes no such objects here`,
    otherCode: true,
  },
  {
    commands: ['kubectl create service nodeport np2'],
    reason: 'each cluster has a range of node ports of its own',
    otherCode: true,
  },
  { commands: ['kubectl get all', 'kubectl describe node', 'kubectl get nodes one -o'], reason: stored },
  {
    commands: [
      'kubectl apply -f web.yaml -o yaml',
      'sed s/1.27/1.29/ web.yaml | kubectl diff',
      "sed 's/, labels: {app: web}}$/}/' web.yaml | kubectl apply -f - -o json",
      "sed 's/replicas: 2/replicas: 5/' web.yaml | kubectl apply --server-side -f - --force-conflicts -o yaml",
      'kubectl get deployment web -o',
      'kubectl get configmap settings -o json --show-managed-fields',
      'kubectl apply --server-side -f web.yaml --field-manager=team --dry-run=server -o json',
      'kubectl get service web -o',
      'kubectl get service en none -o',
      'kubectl get hpa web -o yaml',
      'kubectl label configmap settings a=b --dry-run=server -o yaml',
      'kubectl create deployment web --image=nginx --replicas=2 --port=80 -o yaml',
      'kubectl create deployment dry --image=nginx --dry-run=server',
      'kubectl get job once -o',
      'kubectl get cronjob often -o yaml',
      'kubectl run shell --image=busybox --labels',
      'kubectl run dry --image=busybox --dry-run=server',
      'kubectl get pods shell -o',
      'kubectl describe',
      'kubectl get pv,pvc,sc',
      'kubectl get pods --field-selector spec.restartPolicy=Always',
    ],
    reason: stored,
  },
  {
    commands: [
      'kubectl describe endpointslices made',
      `kubectl patch pod app -p '{"spec":{"containers":[{"name":"app","image"`,
    ],
    reason: `${stored}; kubectl expects the default of a port, and the rule about updates compares defaults of the image`,
    otherCode: true,
  },
  {
    commands: ['kubectl patch deployment web', 'kubectl patch -f web.yaml'],
    reason:
      'a space keeps unknown fields of a patch, with a warning: the API server of a cluster may be newer and know them',
    without: [/Warning: unknown field "spec.none"\n/g, / \(no change\)/g],
  },
  {
    commands: ["kubectl get --raw '/api/v1/namespaces/read/configmaps?resourceVersionMatch=Exact'"],
    reason: 'an option without effect is not refused',
    otherCode: true,
  },
  {
    commands: [
      "kubectl get --raw '/api/v1/namespaces/read/configmaps?limit=1&",
      "kubectl get --raw '/api/v1/namespaces/read/configmaps?watch=true&timeoutSeconds=1&fieldSelector=metadata.name%3Da&sendInitialEvents",
      'kubectl get --raw /api',
      "kubectl get --raw '/readyz?verbose'",
      "kubectl get --raw '/openapi/v3/api/v1' | head",
    ],
    reason:
      'no client reads the difference: the order of fields, a null, addresses, hashes, versions and words for people',
  },
  {
    commands: [
      'kubectl get endpointslices,endpoints',
      'kubectl apply -k shop --prune',
      'kubectl apply -f web.yaml --prune',
    ],
    reason: 'a workload space sends no warning for a deprecated kind that is only read',
    without: [/Warning: v1 Endpoints is deprecated.*\n/g],
  },
  {
    commands: ['kubectl explain lease --output=plaintext-openapiv2', 'kubectl explain'],
    reason:
      'the older form of the schemas, which kubectl before 1.29 reads, has no descriptions of fields with a type of their own',
    without: [/^ {5}(More info|https:|spec contains the specification).*\n/gm],
  },
  {
    commands: ['kubectl auth can-i', 'kubectl auth whoami'],
    reason:
      'rights of users in a space come from grants: nobody without a grant learns anything of a space, and certificates are not identities of their own',
    otherCode: true,
  },
  {
    commands: ['kubectl get events'],
    reason: 'no controller works on the objects of a workload space',
  },
  {
    commands: ['kubectl delete configmap settings --timeout=1s'],
    reason: 'kubectl prints a warning of its own if a watch ends before the first event',
  },
];

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
    requests: [/^GET \/(apis\/)?nothing /, /^GET \/metrics\/x /, /\/nothings? /, /\/pods\/a\/log /, /^NOTHING /],
    reason: 'what there is not is a Status with the resource here, and a page of text there',
  },
  {
    requests: [/\/\/configmaps /],
    reason: 'an empty part of a path counts as no part, as with most servers',
  },
  {
    requests: [/ null$/, /"resourceVersion":"1"/, /resourceVersion=x /, /"kind":"Nothing"\}$/, /^DELETE .* \{$/],
    reason: 'a wrong request is answered 400, and not 500 as a fault of the server',
  },
  {
    requests: [/^PATCH .*(\{"kind":"Secret"\}|"labels":\{"a":5\}|"op":"nothing"|"path":"data")/],
    reason:
      'a patch that makes no object of the kind is a bad request; the message names the field in place of the whole object',
  },
  {
    requests: [/"generateName":"Bad_"/, /"finalizers":\["a"\]/, /^POST .*"name":"Bad_"\},"none":1\}$/],
    reason: 'the rules of the kinds are compared by kubernetes-validation, with their own list of differences',
  },
  {
    requests: [/^POST .* text\/html /, /application\/\* $/, /application\/yaml $/, /^GET \/api application\/json;as=/],
    reason: 'answers are JSON; a client that takes any form, or a form that is no other one, gets JSON in place of 406',
  },
  {
    requests: [/[?&]resourceVersionMatch=/],
    reason: 'an option without effect is not refused',
  },
  { requests: [/includeObject=None/], reason: 'a row without its object has no field for the object' },
  {
    requests: [/watch=true.*&resourceVersion=1&/],
    reason: 'the history of a space begins later than its first revision, so a watch from the first one has expired',
  },
  {
    requests: [/^(DELETE|PATCH) \/apis\/events\.k8s\.io\//, /"preconditions"/],
    reason: 'the details of a refusal name the resource as it is stored, and not the kind',
  },
];

export function isAcceptedRequest({ method, path, sent = '', headers = {} }: RawRequest): boolean {
  const text = `${method} ${path} ${headers.accept ?? headers['content-type'] ?? ''} ${sent}`;
  return acceptedRequests.some(({ requests }) => requests.some((request) => request.test(text)));
}
