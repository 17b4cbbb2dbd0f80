/** The accepted differences between a workload space and a real API server in the sessions of helm, each with its reason. */
import type { AcceptedCommand } from './accepted-answers.ts';

const shown = (...objects: readonly string[]) =>
  objects.map((object) => `kubectl get ${object} -o yaml --show-managed-fields`);

export const acceptedHelmCommands: readonly AcceptedCommand[] = [
  {
    commands: shown(
      'pod a-test',
      'crd counters.helm.example.com',
      'deployment shop',
      'deployment owned',
      'statefulset shop-store',
      'cronjob shop-clean',
    ),
    reason: 'which manager owns an empty struct, and a struct or list itself, differs in the entry of an update',
    without: [/^ *(f:resources|\.): \{\}\n/gm],
  },
  {
    commands: shown(
      'pod a-test',
      'deployment shop',
      'deployment owned',
      'service shop',
      'cronjob shop-clean',
      'ingress shop',
    ),
    reason: 'Go writes some empty structs',
    without: [/^ *(resources|metadata|status|loadBalancer): \{\}\n/gm, /^status:\n(?! )/gm],
  },
  {
    commands: shown('statefulset shop-store', 'hpa shop', 'pdb shop'),
    reason: 'Go writes some empty fields: a struct, and a list or number of a status',
    without: [/^ *resources: \{\}\n/gm, /^status:\n( +\w+: (0|null)\n)+/gm],
  },
  {
    commands: shown('pvc shop'),
    reason: 'the admission of each cluster protects the volumes that are used',
    without: [/^ {2}finalizers:\n {2}- kubernetes\.io\/pvc-protection\n/gm],
  },
  {
    commands: shown('pod a-test'),
    reason: 'the admission and the controllers of each cluster add the rest of the object',
    without: [
      / {4}volumeMounts:\n( {4}[- ] .*\n)+/g,
      /^ {2}(preemptionPolicy|priority|serviceAccount|serviceAccountName|qosClass): .*\n/gm,
      / {2}(tolerations|volumes):\n( {2}[- ] .*\n)+/g,
    ],
  },
  {
    commands: ["kubectl get job b-job -o jsonpath='{.status}'"],
    reason: 'Go writes the times of a condition that has none',
    without: [/"last(Probe|Transition)Time":null,/g],
  },
  {
    commands: shown('crd counters.helm.example.com'),
    reason: 'a definition has its finalizer from the beginning, and the controller of a space has another name',
    without: [
      /^ {2}finalizers:\n( {2}- .*\n)+/gm,
      /^ {2}- apiVersion: .*\n( {4}.*\n)*? {4}manager: (crd-controller|kube-apiserver)\n( {4}.*\n)*/gm,
    ],
  },
  {
    commands: [
      'helm install shop charts/shop --set replicas=many',
      'helm upgrade shop charts/shop --set replicas=1.5',
      'helm upgrade shop charts/shop --set replicas=many',
      'helm upgrade shop charts/shop --set port=many',
      'helm upgrade counter charts/kinds --set lanes=many',
    ],
    reason:
      'the message of Kubernetes repeats the whole object, or names another step in which it has found the wrong type',
  },
  {
    commands: ['helm upgrade shop charts/shop --set more.strategy.type=Wrong', 'helm history shop'],
    reason: 'the message of Kubernetes shows a Go value',
    without: [/(?<=spec\.strategy: Unsupported value: )\{.*?\}(?=: supported)/g],
  },
  {
    commands: [
      'helm list --kube-as-user=nobody',
      'helm install no charts/shop --kube-as-user=nobody',
      'helm upgrade owned charts/shop --kube-as-user=nobody --kube-as-group=none',
    ],
    reason: 'nobody without a grant learns anything of a space, not even its version',
  },
  {
    commands: ['helm status shop -o json'],
    reason: 'helm 4 shows the objects of the release too: Go writes some empty fields, and each cluster adds its own',
    otherAnswer: true,
  },
  {
    commands: shown('service shop'),
    reason:
      'Kubernetes drops a field of the former type after it has computed the managed fields, so a manager owns a field that is not there',
    without: [/^ *f:externalTrafficPolicy: \{\}\n/gm],
  },
];
