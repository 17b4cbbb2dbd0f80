/**
 * Checks what the schema of a topology can't express: the relation of parents and children, the syntax of names and labels, ports, and files. A topology
 * with a problem never starts.
 */
import { checkNodeName, childPath, shownPath } from '../../core/identity/node-path.ts';
import { labelKeyFlaw, labelValueFlaw, nameFlaw, subdomainFlaw } from '../../core/object/plain-names.ts';
import { fieldOf, type SchemaProblem } from '../../core/runtime/schema-problems.ts';
import { checkParents } from './parents.ts';
import type { FileContent, NamedFileCheck, Topology, TopologyCluster, TopologyRelay } from './topology.ts';

type Path = SchemaProblem['path'];

export function checkTopology(topology: Topology, fileProblem: NamedFileCheck): readonly SchemaProblem[] {
  return [
    ...checkNames(topology),
    ...checkSpaces(topology),
    ...checkParents(topology),
    ...checkAllLabels(topology),
    ...checkReplicas(topology),
    ...checkPorts(topology),
    ...checkFiles(topology, fileProblem),
  ];
}

interface Member {
  readonly node: TopologyRelay | TopologyCluster;
  readonly path: Path;
}

function membersOf({ relays, clusters }: Topology): Member[] {
  return [
    ...relays.map((node, i) => ({ node, path: ['spec', 'relays', i] })),
    ...clusters.map((node, i) => ({ node, path: ['spec', 'clusters', i] })),
  ];
}

/** The center and the relays. `shown`: the path of the node in messages. */
function relaysOf({ center, relays }: Topology) {
  return [
    { ...center, shown: 'the center', path: ['spec', 'center'] as Path },
    ...relays.map((relay, i) => ({
      ...relay,
      shown: shownPath(childPath(relay.parent, relay.name)),
      path: ['spec', 'relays', i] as Path,
    })),
  ];
}

function checkNames(topology: Topology): SchemaProblem[] {
  const problems: SchemaProblem[] = [];
  // The name of the tree is a part of the identity in every certificate.
  const wrongTree = nameFlaw(topology.name);
  if (wrongTree) problems.push({ path: ['metadata', 'name'], message: `"${topology.name}": ${wrongTree}` });
  const firstOf = new Map<string, Path>();
  for (const { node, path } of membersOf(topology)) {
    const reason = checkNodeName(node.name);
    if (reason) problems.push({ path: [...path, 'name'], message: `"${node.name}": ${reason}` });
    const nodePath = childPath(node.parent, node.name);
    const first = firstOf.get(nodePath);
    if (first) {
      const message = `"${nodePath}" is named twice; the first is ${fieldOf(first)}`;
      problems.push({ path: [...path, 'name'], message });
    } else {
      firstOf.set(nodePath, path);
    }
  }
  return problems;
}

function checkSpaces(topology: Topology): SchemaProblem[] {
  return relaysOf(topology).flatMap(({ spaces, path }) =>
    spaces.flatMap(({ name }, i) => {
      const first = spaces.findIndex((space) => space.name === name);
      const twice = `the space is named twice; the first is ${fieldOf([...path, 'spaces', first])}`;
      const reason = nameFlaw(name) ?? (first < i ? twice : undefined);
      return reason ? [{ path: [...path, 'spaces', i, 'name'], message: `"${name}": ${reason}` }] : [];
    }),
  );
}

/** Refuses settings that can belong to only one process, if a path has several processes: replicas share nothing. */
function checkReplicas({ relays }: Topology): SchemaProblem[] {
  const withReplicas = new Set(
    relays.filter(({ replicas }) => replicas > 1).map(({ parent, name }) => childPath(parent, name)),
  );
  return relays.flatMap(({ name, parent, replicas, spaces, listen }, i): SchemaProblem[] => {
    if (replicas === 1) return [];
    const path = ['spec', 'relays', i];
    const port = listen?.apiPort ?? listen?.meshPort;
    return [
      ...(spaces.length > 0
        ? [
            {
              path: [...path, 'spaces'],
              message: `"${name}" has ${replicas} replicas, and each would have a space "${spaces[0]!.name}" of its own: give the space to a relay above, or use replicas: 1`,
            },
          ]
        : []),
      ...(withReplicas.has(parent)
        ? [
            {
              path: [...path, 'replicas'],
              message: `"${name}" and its parent "${parent}" both have replicas: put a relay without replicas between them, so that one node tracks one group of replicas, or use replicas: 1 for one of them`,
            },
          ]
        : []),
      ...(port === undefined
        ? []
        : [
            {
              path: [...path, 'listen'],
              message: `${replicas} replicas can't listen on one port (${port}): leave the ports out, or use replicas: 1`,
            },
          ]),
    ];
  });
}

const allAddresses: readonly string[] = ['0.0.0.0', '::'];

/** All nodes of a topology run on one machine, so each port of an address is for one of them. */
function checkPorts(topology: Topology): SchemaProblem[] {
  const taken: { readonly host: string; readonly port: number; readonly shown: string }[] = [];
  return relaysOf(topology).flatMap(({ listen, shown, path }) =>
    (['apiPort', 'meshPort'] as const).flatMap((key): SchemaProblem[] => {
      const port = listen?.[key];
      if (port === undefined) return [];
      const { host } = listen!;
      const shares = (other: string) => other === host || [other, host].some((one) => allAddresses.includes(one));
      const other = taken.find((one) => one.port === port && shares(one.host));
      taken.push({ host, port, shown: `the ${key} of ${shown}` });
      const message = `${port} is also ${other?.shown}; choose another`;
      return other ? [{ path: [...path, 'listen', key], message }] : [];
    }),
  );
}

function checkFiles(topology: Topology, fileProblem: NamedFileCheck): SchemaProblem[] {
  const { audit, authentication, frontProxy, encryption } = topology.center;
  const center = ['spec', 'center'] as const;
  const ofCenter: { file: string | undefined; path: Path; content?: FileContent }[] = [
    { file: audit?.policyFile, path: [...center, 'audit', 'policyFile'], content: 'auditPolicy' },
    { file: authentication?.file, path: [...center, 'authentication', 'file'], content: 'authentication' },
    { file: frontProxy?.clientCA, path: [...center, 'frontProxy', 'clientCA'] },
    { file: encryption?.keyFile, path: [...center, 'encryption', 'keyFile'] },
  ];
  const ofMembers = membersOf(topology).flatMap(({ node, path }) => {
    const kubeconfig = 'provider' in node ? node.provider.kubeconfig?.path : undefined;
    const issuers = 'authentication' in node ? node.authentication?.file : undefined;
    const proxies = 'frontProxy' in node ? node.frontProxy?.clientCA : undefined;
    return [
      { file: node.link?.ca, path: [...path, 'link', 'ca'] },
      { file: node.audit?.policyFile, path: [...path, 'audit', 'policyFile'], content: 'auditPolicy' as const },
      { file: issuers, path: [...path, 'authentication', 'file'], content: 'authentication' as const },
      { file: proxies, path: [...path, 'frontProxy', 'clientCA'] },
      { file: node.encryption?.keyFile, path: [...path, 'encryption', 'keyFile'] },
      { file: kubeconfig, path: [...path, 'provider', 'kubeconfig', 'path'] },
    ];
  });
  return [...ofCenter, ...ofMembers].flatMap(({ file, path, content }: (typeof ofCenter)[number]) => {
    const message = file === undefined ? undefined : fileProblem(file, content);
    return message === undefined ? [] : [{ path, message }];
  });
}

function checkAllLabels({ center, relays, clusters }: Topology): SchemaProblem[] {
  return [
    ...checkLabels(center.labels, ['spec', 'center', 'labels']),
    ...relays.flatMap(({ labels }, i) => checkLabels(labels, ['spec', 'relays', i, 'labels'])),
    ...clusters.flatMap(({ labels, annotations, properties }, i) => {
      const path = ['spec', 'clusters', i];
      return [
        ...checkLabels(labels, [...path, 'labels']),
        ...Object.keys(annotations).flatMap((key) => keyProblem(key, [...path, 'annotations'])),
        ...Object.keys(properties).flatMap((key) => {
          const reason = subdomainFlaw(key.toLowerCase());
          return reason ? [{ path: [...path, 'properties', key], message: `"${key}": ${reason}` }] : [];
        }),
      ];
    }),
  ];
}

function checkLabels(labels: Record<string, string>, path: Path): SchemaProblem[] {
  return Object.entries(labels).flatMap(([key, value]) => {
    const reason = labelValueFlaw(value);
    return [...keyProblem(key, path), ...(reason ? [{ path: [...path, key], message: `"${value}": ${reason}` }] : [])];
  });
}

function keyProblem(key: string, path: Path): SchemaProblem[] {
  const reserved = key.startsWith('tree.banyan.io/')
    ? 'the prefix tree.banyan.io/ is reserved for labels of the tree itself: use another prefix'
    : undefined;
  const reason = labelKeyFlaw(key) ?? reserved;
  return reason ? [{ path: [...path, key], message: `"${key}": ${reason}` }] : [];
}
