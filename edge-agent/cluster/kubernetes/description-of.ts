/**
 * Makes the description of a cluster. If the agent is not allowed to read a part, the description names the missing permission, so that people can grant it.
 */
import type { BanyanError } from '../../../core/runtime/errors.ts';
import type { ClusterDescription, ClusterTrouble } from '../cluster.ts';
import type { DescribedNodes } from '../described-nodes.ts';
import type { ServerVersion } from './server-version.ts';

export interface DescriptionAnswers {
  readonly version: ServerVersion;
  readonly nodes: DescribedNodes;
  readonly trouble: ClusterTrouble | undefined;
  /** Why the agent can't watch nodes and definitions. */
  readonly refusals: { readonly nodes: BanyanError | undefined; readonly definitions: BanyanError | undefined };
  /** The server's messages for all resources that the agent can't watch, including nodes and definitions. */
  readonly unwatched: readonly string[];
}

/** Number of messages that the text names. A person reads them: one or two lines are enough. */
const namedMax = 5;

export function descriptionOf({
  version,
  nodes,
  trouble,
  refusals,
  unwatched,
}: DescriptionAnswers): ClusterDescription {
  const others = unwatched.filter(
    (message) => message !== refusals.nodes?.message && message !== refusals.definitions?.message,
  );
  const incomplete = [
    ...because('the version is not known', version.refusal?.message),
    ...because('nodes are not counted', refusals.nodes?.message),
    ...because('new kinds are noticed late', refusals.definitions?.message),
    ...because('reports about objects that are not watched may be old', named(others)),
  ];
  const remedy = 'Give the agent the right, as the ClusterRole of its chart does';
  const { gitVersion, platform } = version;
  return {
    ...(gitVersion === undefined ? {} : { kubernetesVersion: gitVersion }),
    ...(platform === undefined ? {} : { platform }),
    ...nodes,
    ...(trouble ? { trouble } : {}),
    ...(incomplete.length > 0
      ? { incomplete: { reason: 'Forbidden', message: `${incomplete.join('; ')}. ${remedy}` } }
      : {}),
  };
}

function because(what: string, why: string | undefined): string[] {
  return why === undefined ? [] : [`${what}: ${why}`];
}

function named(message: readonly string[]): string | undefined {
  if (message.length === 0) return undefined;
  const more = message.length > namedMax ? [`and ${message.length - namedMax} more`] : [];
  return [...message.slice(0, namedMax), ...more].join(', ');
}
