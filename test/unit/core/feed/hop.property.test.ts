import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ResumeTuple } from '../../../../core/feed/feed.ts';
import type { FeedProducer } from '../../../../core/feed/producer.ts';
import type { Reader } from '../../../../core/store/store.ts';
import { held, storedContents } from './feed-support.ts';
import { asTheProduct, type Command, type Decisions, Hop, keyNames } from './hop.ts';

const key = fc.constantFrom(...keyNames);
const copy = fc.nat(3);
const crash = fc.boolean();
const constant = <T extends Command>(command: T): fc.Arbitrary<Command> => fc.constant(command);
const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('put' as const), key, body: fc.constantFrom('1', '2', '3') }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('remove' as const), key }) },
  { weight: 4, arbitrary: constant({ do: 'flush' }) },
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constant('batch' as const), maxEntries: fc.integer({ min: 1, max: 3 }) }),
  },
  { weight: 3, arbitrary: constant({ do: 'acknowledge' }) },
  { weight: 6, arbitrary: constant({ do: 'sync' }) },
  { weight: 6, arbitrary: constant({ do: 'reconnect' }) },
  { weight: 3, arbitrary: constant({ do: 'reconcile' }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('restartProducer' as const), crash }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('restartConsumer' as const), crash }) },
  { weight: 2, arbitrary: constant({ do: 'copyProducer' }) },
  { weight: 2, arbitrary: constant({ do: 'copyConsumer' }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('putBackProducer' as const), copy }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('putBackConsumer' as const), copy }) },
  { weight: 1, arbitrary: constant({ do: 'emptyProducer' }) },
  { weight: 1, arbitrary: constant({ do: 'emptyConsumer' }) },
  { weight: 1, arbitrary: constant({ do: 'dropProducer' }) },
);
const commands = fc.array(command, { maxLength: 60, size: 'max' });

/** In the end both have the same rows, the consumer knows that these are all, and every content is named by a row. */
function checkSettled(decisions: Decisions, ordered: boolean, steps: readonly Command[]): void {
  const hop = new Hop(decisions, ordered);
  hop.run(steps);
  hop.settle();
  const { producer, consumer } = hop.ends;
  expect(held(consumer)).toEqual(held(producer));
  expect(consumer.store.read((reader) => consumer.feed.resume(reader).cursor)).toBe(
    producer.store.read((reader) => producer.feed.head(reader)),
  );
  for (const end of [producer, consumer]) expect(storedContents(end.store)).toBe(Object.keys(held(end)).length);
}

describe('one hop', () => {
  it.each([
    ['values without an order of their own', false],
    ['values with revisions of their origin', true],
  ])('with %s ends with equal rows, whatever happened to either end', (_, ordered) => {
    fc.assert(
      fc.property(commands, (steps) => checkSettled(asTheProduct, ordered, steps)),
      { numRuns: 10_000 },
    );
  });
});

/**
 * A rule is switched off by a tuple that satisfies it, whatever the consumer sends. The fourth rule has no canary: a batch never ends beyond the head that it
 * announces, so the rule stops only tuples that no producer's batches give.
 */
const withoutRule: Readonly<
  Record<string, (reader: Reader, producer: FeedProducer, tuple: ResumeTuple) => ResumeTuple>
> = {
  'the epoch is equal': (_reader, { epoch }, tuple) => ({ ...tuple, epoch }),
  'the incarnation is known': (_reader, { incarnation }, tuple) => ({ ...tuple, incarnation }),
  // The remaining rule is the obvious one: the cursor is not beyond the end of the incarnation.
  'the announced head is not lost': (_reader, _producer, tuple) => ({ ...tuple, seenHead: tuple.cursor }),
  'no tombstone behind the cursor was purged': (reader, producer, tuple) => {
    const cursor = Math.max(tuple.cursor, producer.purgeRevision(reader));
    return { ...tuple, cursor, seenHead: Math.max(tuple.seenHead, cursor) };
  },
};

/** True if the property that holds for the product fails without the decision. */
function diverges(decisions: Decisions): boolean {
  const property = fc.property(commands, (steps) => checkSettled(decisions, false, steps));
  return fc.check(property, { numRuns: 50_000, seed: 2, endOnFailure: true }).failed;
}

describe('one hop diverges', () => {
  it.each(Object.entries(withoutRule))('without the rule that %s', (_, satisfied) => {
    const resumable: Decisions['resumable'] = (reader, producer, tuple) =>
      producer.resumable(reader, tuple.epoch === '' ? tuple : satisfied(reader, producer, tuple));
    expect(diverges({ ...asTheProduct, resumable })).toBe(true);
  });

  it('if a batch announces the durable head although superseding revisions are written', () => {
    expect(diverges({ ...asTheProduct, sent: (batch, head) => ({ ...batch, head }) })).toBe(true);
  });
});
