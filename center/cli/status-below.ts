/**
 * For `banyan status epl/NAME -o wide`: the failures of a placement as every relay below shows them. The status of a placement has a sample of at most ten
 * failures. A relay's sample is about its own subtree, so all samples together name more.
 */
import { comparePaths, isBelow, pathShownAs } from '../../core/identity/node-path.ts';
import { describeError } from '../../core/runtime/errors.ts';
import { sourceName } from '../topology/plan.ts';
import type { NodeApiClient } from './api-client.ts';
import { isNodeContext, nodeIn } from './node-contexts.ts';
import type { ShownFailure } from './remedy.ts';

export interface RelayFailures {
  readonly failures: readonly ShownFailure[];
  /** Relays that could not be asked, with the reason. */
  readonly silent: readonly string[];
}

/** `own`: the failures that the origin shows. `path`: of the placement in the API of a space. */
export async function relayFailures(
  api: Pick<NodeApiClient, 'contexts' | 'get'>,
  context: string,
  path: string,
  own: readonly ShownFailure[],
): Promise<RelayFailures> {
  const [, origin = '', space = ''] = context.split('/');
  const originPath = pathShownAs(origin);
  const relays = api
    .contexts()
    .filter(isNodeContext)
    .map(nodeIn)
    .filter((relay) => isBelow(relay, originPath));
  const silent: string[] = [];
  const samples = await Promise.all(
    relays.map(async (relay) => {
      try {
        const placement = await api.get(`space/${relay}/${sourceName(originPath, space)}`, path);
        return (placement?.status as { readonly failures?: readonly ShownFailure[] } | undefined)?.failures ?? [];
      } catch (error) {
        silent.push(`${relay} (${describeError(error)})`);
        return [];
      }
    }),
  );
  const all = new Map([...own, ...samples.flat()].map((one) => [`${one.path} ${one.object ?? ''} ${one.reason}`, one]));
  const failures = [...all.values()].sort((a, b) => comparePaths(a.path, b.path));
  return { failures, silent: silent.sort() };
}
