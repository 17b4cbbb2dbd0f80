/**
 * Checks at every hop what a space may deliver (`spec.delivery` of the Space, in the rows of its placements). The origin has checked it already. A relay checks
 * again, because a node between may be older, and because a stage of the last hop may bring back a form of an object from before the bounds changed.
 */
import type { RefsAttributes, ReportRules, TargetAttributes } from '../../core/entries/down-attributes.ts';
import { attributesOf, parseEntryKey } from '../../core/entries/entry-keys.ts';
import type { Content } from '../../core/feed/feed.ts';
import { boundedPriority, mayDeliver } from '../../core/match/delivery-bounds.ts';
import { boundedUpsync } from '../../core/match/upsync-bounds.ts';
import { stableStringify } from '../../core/object/canonical.ts';
import { equalJson } from '../../core/object/json-value.ts';
import { asText, text } from '../../core/store/bytes.ts';
import type { Placement } from '../placements/placement.ts';

/**
 * Whether a placement of the row that reaches the child may deliver the row. `placementOf` returns a placement of the row's source by name, if it reaches the
 * child. Rows that go to no cluster, such as Customizers, are always delivered. So are the promoted forms of objects: without one of them, a relay could not
 * prove that it knows a release, and would hold the release back.
 */
export function isDelivered(content: Content, placementOf: (name: string) => Placement | undefined): boolean {
  const wanting = attributesOf<RefsAttributes>(content)
    .refs.map(placementOf)
    .filter((placement) => placement !== undefined);
  // Most spaces have no bounds, so most rows are not parsed.
  if (wanting.some(({ delivery }) => !delivery)) return true;
  const entry = parseEntryKey(content.key);
  if (entry?.type !== 'object') return wanting.length > 0;
  return wanting.some(({ delivery }) => mayDeliver(delivery, entry.object));
}

/** The target as the agent may get it. */
export function boundedTarget(target: TargetAttributes, { delivery }: Placement): TargetAttributes {
  const priority = boundedPriority(target.priority, delivery);
  return priority === target.priority ? target : { ...target, priority };
}

/** The rules for reports as the child may get them. Undefined: as they are. */
export function boundedRules(content: Content, { delivery }: Placement): Content | undefined {
  if (!delivery) return undefined;
  const rules = JSON.parse(asText(content.body)) as ReportRules;
  const upsync = boundedUpsync(rules.upsync, delivery);
  return equalJson(upsync, rules.upsync)
    ? undefined
    : { ...content, body: text(stableStringify({ ...rules, upsync })) };
}
