/** Compares the forms of an object for one placement: the content of the object's row, which has the names of all placements that want the object. */
import type { ObjectAttributes } from '../../core/entries/down-attributes.ts';
import { parseEntryKey } from '../../core/entries/entry-keys.ts';
import type { Content } from '../../core/feed/feed.ts';
import { stableStringify } from '../../core/object/canonical.ts';
import type { ObjectKey } from '../../core/object/key.ts';
import { asText, equalBytes } from '../../core/store/bytes.ts';
import type { ObjectChange } from '../history/revisions.ts';

export function refsOf(content: Content | undefined): readonly string[] {
  return content ? attributesOf(content).refs : [];
}

export function forPlacement(content: Content | undefined, name: string): Content | undefined {
  return content && refsOf(content).includes(name) ? content : undefined;
}

/** The content, if the placement selects the object itself. A Namespace that the placement brings for its objects is no part of its revisions. */
export function ownForm(content: Content | undefined, name: string): Content | undefined {
  const own = forPlacement(content, name);
  return own && attributesOf(own).implied?.includes(name) && parseEntryKey(own.key)?.type === 'object'
    ? undefined
    : own;
}

/** Returns the change for the history. Undefined: the placement's form of the object did not change. */
export function changeOf(
  key: ObjectKey,
  former: Content | undefined,
  present: Content | undefined,
  name: string,
): ObjectChange | undefined {
  if (isSame(former, present, name)) return undefined;
  const generationOf = (content: Content | undefined) => content && attributesOf(content).generation;
  const [formerGeneration, generation] = [generationOf(former), generationOf(present)];
  return {
    key,
    ...(former ? { former } : {}),
    ...(formerGeneration === undefined ? {} : { formerGeneration }),
    ...(generation === undefined ? {} : { generation }),
    ...(present ? {} : { isRemoved: true }),
  };
}

export function isSameBody(a: Content | undefined, b: Content | undefined): boolean {
  return a && b ? equalBytes(a.body, b.body) : a === b;
}

/**
 * Returns whether the contents are the same for one placement. They are if only other placements began or ceased to want the object, or if the object was
 * written without a difference.
 */
export function isSame(a: Content | undefined, b: Content | undefined, name: string): boolean {
  if (!a || !b) return a === b;
  if (!equalBytes(a.body, b.body)) return false;
  const [first, second] = [attributesOf(a), attributesOf(b)];
  return (
    (first.createOnly?.includes(name) ?? false) === (second.createOnly?.includes(name) ?? false) &&
    (first.named?.includes(name) ?? false) === (second.named?.includes(name) ?? false) &&
    stableStringify(first.customizers ?? []) === stableStringify(second.customizers ?? []) &&
    first.expand === second.expand
  );
}

function attributesOf(content: Content): ObjectAttributes {
  return JSON.parse(asText(content.attributes)) as ObjectAttributes;
}
