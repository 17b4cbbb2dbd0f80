import { describe, expect, it } from 'vitest';
import { OneSide, type Side } from '../../../support/one-side.ts';
import { frameOf, framesFor, type SentFrame } from '../../../support/sent-frames.ts';
import { changed, type FieldPath, pathsOf, type Variant, variantsOf } from '../../../support/wire-fields.ts';

const sides: readonly Side[] = ['parent', 'child'];
const kinds = framesFor('parent', new OneSide('parent')).map(({ kind }) => kind);

/** A fresh side that has received the earlier frames, and then the frame. A frame that ends a session must have changed nothing. */
async function outcomeOf(side: Side, kind: string, change: (sent: SentFrame) => Buffer): Promise<string> {
  const one = new OneSide(side);
  const sent = framesFor(side, one).find((each) => each.kind === kind)!;
  for (const frame of sent.before) await one.receive(frame);
  await one.pair.run(100);
  const before = one.dump();
  expect(one.outcome).toBe('goes on');
  await one.receive(frameOf(sent.number, change(sent)));
  if (/^(ends Protocol|refused bad|breaks)/.test(one.outcome)) expect(one.dump()).toBe(before);
  return one.outcome;
}

/** `batch.to: ends Protocol [absent, 2^48]; goes on [1]` */
async function outcomes(side: Side, kind: string, path: FieldPath, variants: readonly Variant[]): Promise<string> {
  const by = new Map<string, string[]>();
  for (const variant of variants) {
    const outcome = await outcomeOf(side, kind, ({ value }) => changed(value, path.fields, variant));
    by.set(outcome, [...(by.get(outcome) ?? []), variant.name]);
  }
  return `${kind}.${path.name}: ${[...by].map(([outcome, names]) => `${outcome} [${names.join(', ')}]`).join('; ')}`;
}

describe.each(sides)('a %s', (side) => {
  it.each(kinds)('accepts a right %s in its place, and knows why it does not accept one elsewhere', async (kind) => {
    const wrongPlace = side === 'parent' ? ['welcome', 'retry'] : ['hello', 'resume'];
    const over = kind === 'goodbye' ? 'ends InOrder' : kind === 'retry' ? 'refused busy' : 'goes on';
    expect(await outcomeOf(side, kind, ({ value }) => value)).toBe(wrongPlace.includes(kind) ? 'ends Protocol' : over);
  });

  it.each(kinds)(
    'that receives a %s with a field at its limits and beyond acts as test/fixtures/bad-fields records, and keeps its store',
    async (kind) => {
      const { message } = framesFor(side, new OneSide(side)).find((each) => each.kind === kind)!;
      const lines: string[] = [];
      for (const path of pathsOf(message))
        lines.push(await outcomes(side, kind, path, variantsOf(path.fields.at(-1)!)));
      await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot(`../../../fixtures/bad-fields/${side}-${kind}.txt`);
    },
  );
});
