/** The settings of a topology that nobody can install elsewhere: they need files, certificates or secrets that are only at the place of the node. */
import { hostsMax } from '../../core/apiserver/kinds/mesh-kinds.ts';
import { shownPath } from '../../core/identity/node-path.ts';
import type { SchemaProblem } from '../../core/runtime/schema-problems.ts';
import type { InstalledNode } from './deployments.ts';

/** Each message has the remedy. */
export function deploymentProblems(installed: readonly InstalledNode[]): SchemaProblem[] {
  return installed.flatMap((one) =>
    [...ofEach(one), ...(one.as === 'chart' ? ofChart(one) : [])]
      .filter(([isWrong]) => isWrong)
      .map(([, field, message]) => ({ path: [...one.field, ...field], message })),
  );
}

/** Reads: if this is so, the field below the node is wrong, and the message has the remedy. */
type Rule = readonly [isWrong: boolean, field: readonly PropertyKey[], message: string];

function ofEach({ node, parentAddress, hosts }: InstalledNode): Rule[] {
  const { role, replicas, parent, link, encryption, issuer } = node;
  return [
    [
      hosts.length > hostsMax,
      ['deploy', 'names'],
      `have to include those of the relays below, and are ${hosts.length} with them; a parent admits at most ${hostsMax}: give the relays below DNS names that end with one of this relay's`,
    ],
    [
      replicas > 1,
      ['replicas'],
      `${replicas}: a relay that joins with a token has one process: write replicas: 1, or run its replicas with certificates of the tree's authority`,
    ],
    [
      parent !== undefined && parentAddress === undefined,
      ['link', 'endpoint'],
      `is missing: nobody knows where ${shownPath(parent ?? '')} listens; give names to its deploy, or an endpoint here`,
    ],
    [
      link?.terminatedTls === true,
      ['link', 'terminatedTls'],
      'true: the node joins with a token, which nobody on the way may read: give a way to the parent on which TLS passes through',
    ],
    [
      hasPassword(link?.proxy),
      ['link', 'proxy'],
      'has a password, and rendered files have no secrets: write the URL without it, and add it where the node runs',
    ],
    [
      encryption?.keyFile !== undefined,
      ['encryption', 'keyFile'],
      'keys are made where the node runs, and are in no rendered file: leave it out',
    ],
    [
      role === 'center' && issuer?.certificateSeconds !== undefined,
      ['issuer', 'certificateSeconds'],
      'a center that makes its own authority gives certificates of 397 days: leave it out',
    ],
  ];
}

function ofChart({ node }: InstalledNode): Rule[] {
  const { role, issuer, authentication, frontProxy, audit, encryption } = node;
  const isAgent = role === 'agent';
  const noFile = 'the chart brings no such file to the pod: leave it out, or install the node on a machine';
  return [
    [encryption?.keyCommand !== undefined, ['encryption', 'keyCommand'], noFile],
    [authentication !== undefined, ['authentication', 'file'], noFile],
    [frontProxy !== undefined, ['frontProxy', 'clientCA'], noFile],
    [!isAgent && audit?.policyFile !== undefined, ['audit', 'policyFile'], noFile],
    [
      isAgent && audit !== undefined,
      ['audit'],
      'a cluster of the chart has the audit log of its own API server: leave it out',
    ],
    [
      !isAgent && !isSealedByChart(encryption?.resources),
      ['encryption', 'resources'],
      'the chart seals Secrets or nothing: write [secrets] or [], or install the node on a machine',
    ],
    [
      role === 'relay' && issuer?.certificateSeconds !== undefined,
      ['issuer', 'certificateSeconds'],
      'the chart has no value for it: leave it out, or install the relay on a machine',
    ],
  ];
}

/** With a Secret of keys, a center or a relay of the chart seals the default resources. */
function isSealedByChart(resources: readonly string[] = ['secrets']): boolean {
  return resources.length === 0 || resources.join() === 'secrets';
}

function hasPassword(proxy: string | undefined): boolean {
  return proxy !== undefined && URL.canParse(proxy) && new URL(proxy).password !== '';
}
