/** Warnings in the words of kube-apiserver 1.34. test/long/kubernetes-validation compares them with a living one. */
import { describe, expect, it } from 'vitest';
import { objectWarnings } from '../../../../../../core/apiserver/builtin/warnings/kind-warnings.ts';
import { selfSigned } from '../../../../../../core/identity/authority.ts';
import type { KubeObject } from '../../../../../../core/object/meta.ts';
import { systemClock } from '../../../../../../core/runtime/clock.ts';
import { systemRandom } from '../../../../../../core/runtime/random.ts';

const isNew = { isChanged: true };

function object(kind: string, fields: object, metadata: object = {}): KubeObject {
  return { apiVersion: 'v1', kind, metadata: { name: 'a', ...metadata }, ...fields };
}

function warnings(kind: string, fields: object, metadata: object = {}): string[] {
  return objectWarnings(kind, object(kind, fields, metadata), isNew);
}

const main = { name: 'main', image: 'x' };

describe('a pod', () => {
  const pod = (spec: object, metadata: object = {}) =>
    warnings('Pod', { spec: { containers: [main], ...spec } }, metadata);

  it.each([
    ['a plain one', {}, []],
    [
      'labels of Nodes that have another name now, wherever they select',
      {
        nodeSelector: { 'beta.kubernetes.io/os': 'linux', 'kubernetes.io/os': 'linux' },
        topologySpreadConstraints: [
          { topologyKey: 'failure-domain.beta.kubernetes.io/zone', labelSelector: {} },
          { topologyKey: 'zone' },
        ],
        affinity: {
          nodeAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: {
              nodeSelectorTerms: [
                { matchExpressions: [{ key: 'node-role.kubernetes.io/master', operator: 'Exists' }] },
              ],
            },
            preferredDuringSchedulingIgnoredDuringExecution: [
              { weight: 1, preference: { matchExpressions: [{ key: 'a', operator: 'In', values: ['b', 'a b'] }] } },
            ],
          },
          podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: 'z' }] },
          podAntiAffinity: {
            preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, podAffinityTerm: { topologyKey: 'z' } }],
          },
        },
      },
      [
        'spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead',
        'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].key: node-role.kubernetes.io/master is use "node-role.kubernetes.io/control-plane" instead',
        "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference.matchExpressions[0].values[1]: a b is invalid, a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
        'spec.topologySpreadConstraints[0].topologyKey: failure-domain.beta.kubernetes.io/zone is deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
        'spec.topologySpreadConstraints[1].labelSelector: a null labelSelector results in matching no pod',
        'spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector: a null labelSelector results in matching no pod',
        'spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm.labelSelector: a null labelSelector results in matching no pod',
      ],
    ],
    [
      'paths of a volume that hide each other',
      {
        volumes: [
          {
            name: 'v',
            configMap: {
              name: 'c',
              items: [
                { key: 'a', path: 'x' },
                { key: 'b', path: 'x/y/' },
              ],
            },
          },
          {
            name: 'p',
            projected: {
              sources: [
                { secret: { name: 's', items: [{ key: 'a', path: 'token' }] } },
                { serviceAccountToken: { path: 'token' } },
                {},
              ],
            },
          },
        ],
      },
      [
        'volume "v" (ConfigMap "c"): overlapping paths: "x/y" with "x"',
        'volume "p" (Projected): overlapping paths: "token" (ServiceAccountToken) with "token" (Secret "s")',
        'volume "p" (Projected) has no sources provided',
      ],
    ],
    [
      'sources of volumes that no kubelet mounts, in order with those of claims',
      {
        volumes: [
          {
            name: 'v',
            gitRepo: {},
            storageos: {},
            rbd: {},
            ephemeral: { volumeClaimTemplate: { spec: { resources: { requests: { storage: '100m' } } } } },
          },
        ],
      },
      [
        'spec.volumes[0].gitRepo: deprecated in v1.11, and disabled by default in v1.33+',
        'spec.volumes[0].storageOS: deprecated in v1.22, non-functional in v1.25+',
        'spec.volumes[0].ephemeral.volumeClaimTemplate.spec.resources.requests[storage]: fractional byte value "100m" is invalid, must be an integer',
        'spec.volumes[0].rbd: deprecated in v1.28, non-functional in v1.31+',
      ],
    ],
    [
      'amounts, names of ports and addresses',
      {
        overhead: { memory: '0.5' },
        initContainers: [{ name: 'i', restartPolicy: 'Always', ports: [{ name: 'http', containerPort: 1 }] }],
        containers: [
          {
            ...main,
            ports: [{ name: 'http', containerPort: 80, hostIP: '10.0.0.1' }],
            resources: { limits: { memory: '1m' } },
          },
        ],
        dnsConfig: { nameservers: ['10.0.0.010', '::1'] },
        hostAliases: [{ ip: '0:0::1' }],
        terminationGracePeriodSeconds: -1,
      },
      [
        'spec.overhead[memory]: fractional byte value "500m" is invalid, must be an integer',
        'spec.containers[0].resources.limits[memory]: fractional byte value "1m" is invalid, must be an integer',
        'spec.containers[0].ports[0]: hostIP set without hostPort: {Name:http HostPort:0 ContainerPort:80 Protocol:TCP HostIP:10.0.0.1}',
        'spec.containers[0].ports[0]: duplicate port name "http" with spec.initContainers[0].ports[0], services and probes that select ports by name will use spec.initContainers[0].ports[0]',
        'spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1',
        'spec.dnsConfig.nameservers[0]: non-standard IP address "10.0.0.010" will be considered invalid in a future Kubernetes release: use "10.0.0.10"',
        'spec.hostAliases[0].ip: IPv6 address "0:0::1" should be in RFC 5952 canonical format ("::1")',
      ],
    ],
  ])('is warned about: %s', (_, spec, expected) => {
    expect(pod(spec)).toEqual(expected);
  });

  it('is warned about profiles that only annotations name', () => {
    const annotations = {
      'seccomp.security.alpha.kubernetes.io/pod': 'unconfined',
      'container.seccomp.security.alpha.kubernetes.io/main': 'unconfined',
      'container.apparmor.security.beta.kubernetes.io/main': 'localhost/a',
    };
    const seccomp = 'non-functional in v1.27+; use the "seccompProfile" field instead';
    const profile =
      'metadata.annotations[container.apparmor.security.beta.kubernetes.io/main]: deprecated since v1.30; use the "appArmorProfile" field instead';
    const ofSeccomp = [
      `metadata.annotations[seccomp.security.alpha.kubernetes.io/pod]: ${seccomp}`,
      `metadata.annotations[container.seccomp.security.alpha.kubernetes.io/main]: ${seccomp}`,
    ];
    expect(pod({}, { annotations })).toEqual([profile, ...ofSeccomp]);
    const said = { appArmorProfile: { type: 'Localhost', localhostProfile: 'a' } };
    expect(pod({ securityContext: said }, { annotations })).toEqual(ofSeccomp);
    const template = { metadata: { annotations }, spec: { containers: [main] } };
    expect(warnings('Deployment', { spec: { template } })).toEqual(
      [...ofSeccomp, profile].map((text) => `spec.template.${text}`),
    );
  });

  it('is warned about nothing when it changes', () => {
    const old = object('Pod', { spec: { nodeSelector: { 'beta.kubernetes.io/os': 'linux' } } });
    expect(objectWarnings('Pod', old, { old, isChanged: true })).toEqual([]);
  });

  it('is warned about its hostname, and not about the names of its pods', () => {
    expect(pod({}, { name: 'a.b' })).toEqual([
      "metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended: [must not contain dots]",
    ]);
  });
});

describe('other kinds', () => {
  it.each<[string, object, string[], object?]>([
    [
      'Service',
      {
        spec: {
          clusterIP: 'None',
          externalIPs: ['010.0.0.1'],
          loadBalancerIP: '::ffff:1.2.3.4',
          loadBalancerSourceRanges: ['10.0.0.1/24', '2001:DB8::/32', '010.0.0.0/8'],
          sessionAffinity: 'ClientIP',
        },
      },
      [
        'spec.loadBalancerIP is ignored for headless services',
        'spec.externalIPs is ignored for headless services',
        'spec.SessionAffinity is ignored for headless services',
        'spec.externalIPs[0]: non-standard IP address "010.0.0.1" will be considered invalid in a future Kubernetes release: use "10.0.0.1"',
        'spec.loadBalancerIP: non-standard IP address "::ffff:1.2.3.4" will be considered invalid in a future Kubernetes release: use "1.2.3.4"',
        'spec.loadBalancerSourceRanges[0]: CIDR value "10.0.0.1/24" is ambiguous in this context (should be "10.0.0.0/24" or "10.0.0.1/32"?)',
        'spec.loadBalancerSourceRanges[1]: IPv6 CIDR value "2001:DB8::/32" should be in RFC 5952 canonical format ("2001:db8::/32")',
        'spec.loadBalancerSourceRanges[2]: non-standard CIDR value "010.0.0.0/8" will be considered invalid in a future Kubernetes release: use "10.0.0.0/8"',
      ],
    ],
    [
      'NetworkPolicy',
      { spec: { egress: [{ to: [{ ipBlock: { cidr: '10.0.0.0/8', except: ['10.1.0.1/16'] } }] }] } },
      [
        'spec.egress[0].to[0].ipBlock.except[0]: CIDR value "10.1.0.1/16" is ambiguous in this context (should be "10.1.0.0/16" or "10.1.0.1/32"?)',
      ],
    ],
    [
      'PersistentVolume',
      { spec: { persistentVolumeReclaimPolicy: 'Recycle', flocker: {}, glusterfs: {}, cephfs: {} } },
      [
        'metadata.annotations[volume.beta.kubernetes.io/storage-class]: deprecated since v1.8; use "storageClassName" attribute instead',
        'spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.',
        'spec.cephfs: deprecated in v1.28, non-functional in v1.31+',
        'spec.glusterfs: deprecated in v1.25, non-functional in v1.26+',
      ],
      { annotations: { 'volume.beta.kubernetes.io/storage-class': 'a' } },
    ],
    [
      'StorageClass',
      { allowedTopologies: [{ matchLabelExpressions: [{ key: 'beta.kubernetes.io/arch', values: ['a'] }] }] },
      ['allowedTopologies[0].matchLabelExpressions[0].key: deprecated since v1.14; use "kubernetes.io/arch" instead'],
    ],
    ['EndpointSlice', { addressType: 'FQDN' }, ['spec.addressType: FQDN endpoints are deprecated']],
    [
      'EndpointSlice',
      { addressType: 'IPv4', endpoints: [{ addresses: ['010.0.0.1'] }] },
      [],
      { labels: { 'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io' } },
    ],
    [
      'StatefulSet',
      {
        spec: {
          revisionHistoryLimit: -1,
          volumeClaimTemplates: [{ spec: { resources: { requests: { storage: '0.1' } } } }],
        },
      },
      [
        'spec.volumeClaimTemplates[0].resources.requests[storage]: fractional byte value "100m" is invalid, must be an integer',
        'spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended',
      ],
    ],
    ['Ingress', { spec: { ingressClassName: 'x' } }, [], { annotations: { 'kubernetes.io/ingress.class': 'y' } }],
    ['ConfigMap', { data: {} }, []],
  ])('a %s', (kind, fields, expected, metadata = {}) => {
    expect(warnings(kind, fields, metadata)).toEqual(expected);
  });

  it('an update that changes no content warns about no template, and about everything else', () => {
    const spec = { volumeClaimTemplates: [{ spec: { resources: { requests: { storage: '0.1' } } } }] };
    const pods = { template: { spec: { nodeSelector: { 'beta.kubernetes.io/os': 'linux' } } } };
    const old = object('StatefulSet', { spec: { ...spec, ...pods } });
    expect(objectWarnings('StatefulSet', old, { old, isChanged: false })).toEqual([
      'spec.volumeClaimTemplates[0].Spec.resources.requests[storage]: fractional byte value "100m" is invalid, must be an integer',
    ]);
  });

  it('a pod of 1.5 MB with the same port 30,000 times is warned in few comparisons', () => {
    const ports = Array.from({ length: 30_000 }, (_, i) => ({ containerPort: 80, hostPort: i + 1 }));
    const items = Array.from({ length: 30_000 }, (_, i) => ({ key: 'a', path: `a${i}` }));
    const volumes = [{ name: 'v', configMap: { name: 'c', items } }];
    expect(warnings('Pod', { spec: { containers: [{ ...main, ports }], volumes } })).toEqual([]);
    const same = ports.map(() => ({ containerPort: 80 }));
    expect(warnings('Pod', { spec: { containers: [{ ...main, ports: same }] } })).toHaveLength(100);
  });
});

describe('a Secret for TLS', async () => {
  const issuing = { clock: systemClock, random: systemRandom };
  const [one, other] = [await selfSigned('a', issuing), await selfSigned('b', issuing)];
  const secret = (certificate: string, key: string) =>
    warnings('Secret', {
      type: 'kubernetes.io/tls',
      data: { 'tls.crt': Buffer.from(certificate).toString('base64'), 'tls.key': Buffer.from(key).toString('base64') },
    });
  it.each([
    ['a pair', one.certPem, one.keyPem, []],
    ['no PEM', 'x', one.keyPem, ['tls: failed to find any PEM data in certificate input']],
    [
      'both keys',
      one.keyPem,
      one.keyPem,
      [
        'tls: failed to find certificate PEM data in certificate input, but did find a private key; PEM inputs may have been switched',
      ],
    ],
    [
      'both certificates',
      one.certPem,
      one.certPem,
      ['tls: found a certificate rather than a key in the PEM for the private key'],
    ],
    ['the key of another', one.certPem, other.keyPem, ['tls: private key does not match public key']],
  ])('with %s', (_, certificate, key, expected) => {
    expect(secret(certificate, key)).toEqual(expected);
  });
});
