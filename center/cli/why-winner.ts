/**
 * For `banyan why`: which source has an object for which the source in question loses. The status of a placement does not say so, because everybody who may read
 * the placement reads the same status. Here the rights of the person who asks decide: the command looks only at spaces that this person may read.
 */
import { isBelow, pathShownAs } from '../../core/identity/node-path.ts';
import { type Claimed, compareClaimed, conflictText } from '../../core/match/precedence.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import { BanyanError } from '../../core/runtime/errors.ts';
import { sourceName } from '../topology/plan.ts';
import type { NodeApiClient } from './api-client.ts';
import { mayReach } from './why-destination.ts';

type WinnerApi = Pick<NodeApiClient, 'contexts' | 'get' | 'list'>;

export interface LosingObject {
  /** `space/center/retail` */
  readonly space: string;
  /** The path of the cluster. */
  readonly at: string;
  /** The path of the object, which is the same in all spaces. */
  readonly path: string;
  /** The placements of the space that select the object. */
  readonly placements: readonly KubeObject[];
}

/** `selecting` returns the placements of another space that select the object as it is there. */
export async function winnerLine(
  api: WinnerApi,
  { space, at, path, placements }: LosingObject,
  selecting: (context: string, object: KubeObject) => Promise<readonly KubeObject[]>,
): Promise<string> {
  const loser = claimedBy(space, placements);
  const spaces = api.contexts().filter((context) => context !== space && isSpaceAbove(context, at));
  const claims = await Promise.all(
    spaces.map((context) =>
      readable(async () => {
        const object = await api.get(context, path);
        const its = object ? await selecting(context, object) : [];
        const there = await mayReach(api, context, at, its);
        return there.length > 0 ? claimedBy(context, there) : undefined;
      }),
    ),
  );
  const [winner] = claims
    .filter((claimed) => claimed !== undefined && compareClaimed(claimed, loser) < 0)
    .sort((a, b) => compareClaimed(a!, b!));
  return winner
    ? `the source that has precedence: ${conflictText(winner, loser)}`
    : 'the source that has precedence is in no space that you may read; those who run the site know it';
}

/** Whether the context is of a space with objects of its own, at a node above the cluster. */
function isSpaceAbove(context: string, at: string): boolean {
  const [kind, node = '', name = ''] = context.split('/');
  return kind === 'space' && !name.includes('.') && isBelow(at, pathShownAs(node));
}

/** The claim of the space as a source, with the strongest of these placements. */
function claimedBy(space: string, placements: readonly KubeObject[]): Claimed {
  const [, node = '', name = ''] = space.split('/');
  const source = sourceName(pathShownAs(node), name);
  const [strongest] = placements
    .map(({ metadata, spec }) => ({
      source,
      claim: {
        placement: metadata.name ?? '',
        priority: (spec as { priority?: number } | undefined)?.priority ?? 0,
        created: metadata.creationTimestamp ?? '',
        uid: metadata.uid ?? '',
      },
    }))
    .sort(compareClaimed);
  return strongest ?? { source, claim: undefined };
}

/** Undefined: the person may not read there, or the node does not answer. Either way, the space can't be named. */
async function readable<T>(read: () => Promise<T | undefined>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof BanyanError && (error.code === 'Forbidden' || error.code === 'Unavailable')) return undefined;
    throw error;
  }
}
