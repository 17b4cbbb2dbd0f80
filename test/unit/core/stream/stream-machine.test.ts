import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { creditBytesMax, dataBytesMax } from '../../../../core/stream/stream.ts';
import {
  beginStream,
  type StreamEffect,
  type StreamInput,
  type StreamState,
  stepStream,
} from '../../../../core/stream/stream-machine.ts';

const window = 100_000;
const asks = () => new Machine(beginStream({ asks: true }, window));
const answers = (credit = window) => new Machine(beginStream({ asks: false, credit }, window));

class Machine {
  state: StreamState;

  constructor(state: StreamState) {
    this.state = state;
  }

  step(...inputs: StreamInput[]): StreamEffect[] {
    return inputs.flatMap((input) => {
      const { state, effects } = stepStream(this.state, input);
      this.state = state;
      return effects;
    });
  }
}

describe('the side that asks', () => {
  it('sends nothing before it has credit, and then everything that the credit allows, a frame at a time', () => {
    const machine = asks();
    expect(machine.step({ type: 'write', bytes: 90_000 }, { type: 'drained' })).toEqual([]);
    expect(machine.step({ type: 'credit', bytes: 70_000 })).toEqual([
      { type: 'accepted' },
      { type: 'sendData', bytes: dataBytesMax },
    ]);
    expect(machine.step({ type: 'sent', full: false })).toEqual([{ type: 'sendData', bytes: dataBytesMax }]);
    expect(machine.step({ type: 'sent', full: false })).toEqual([
      { type: 'sendData', bytes: 70_000 - 2 * dataBytesMax },
    ]);
    expect(machine.step({ type: 'sent', full: false })).toEqual([]);
    expect(machine.step({ type: 'credit', bytes: 1 })).toEqual([{ type: 'sendData', bytes: 1 }]);
  });

  it('sends its end after all queued data, also without any data', () => {
    const empty = asks();
    expect(empty.step({ type: 'drained' }, { type: 'end' })).toEqual([]);
    expect(empty.step({ type: 'credit', bytes: 1 })).toEqual([{ type: 'accepted' }, { type: 'sendFin' }]);
    const full = asks();
    full.step({ type: 'drained' }, { type: 'write', bytes: 10 }, { type: 'end' });
    expect(full.step({ type: 'credit', bytes: 9 })).toContainEqual({ type: 'sendData', bytes: 9 });
    expect(full.step({ type: 'sent', full: false })).toEqual([]);
    expect(full.step({ type: 'credit', bytes: 9 }, { type: 'sent', full: false })).toEqual([
      { type: 'sendData', bytes: 1 },
      { type: 'sendFin' },
    ]);
  });

  it('delays data while the transport is full, and nothing else', () => {
    const machine = asks();
    machine.step({ type: 'drained' }, { type: 'credit', bytes: window }, { type: 'write', bytes: 2 * dataBytesMax });
    expect(machine.step({ type: 'sent', full: true })).toEqual([]);
    machine.step({ type: 'data', bytes: window });
    expect(machine.step({ type: 'consumed', bytes: window })).toEqual([{ type: 'sendCredit', bytes: window }]);
    expect(machine.step({ type: 'drained' })).toEqual([{ type: 'sendData', bytes: dataBytesMax }]);
  });

  it('ends when nobody took the stream in time, and not when somebody did', () => {
    const late = asks();
    expect(late.step({ type: 'deadline' })).toEqual([
      {
        type: 'closed',
        sendReset: true,
        why: { code: 'DeadlineExceeded', message: 'did not take the stream in time' },
      },
    ]);
    const early = asks();
    early.step({ type: 'credit', bytes: 1 });
    expect(early.step({ type: 'deadline' })).toEqual([]);
  });
});

describe('the side that is asked', () => {
  it('takes the stream with its window, and sends as much as its credit allows', () => {
    const machine = answers(5);
    machine.step({ type: 'drained' });
    expect(machine.step({ type: 'accept' })).toEqual([{ type: 'sendCredit', bytes: window }]);
    expect(machine.step({ type: 'write', bytes: 9 })).toEqual([{ type: 'sendData', bytes: 5 }]);
  });

  it('gives credit back by halves of its window, and none after the end', () => {
    const machine = answers();
    machine.step({ type: 'accept' }, { type: 'data', bytes: window });
    expect(machine.step({ type: 'consumed', bytes: window / 2 - 1 })).toEqual([]);
    expect(machine.step({ type: 'consumed', bytes: 1 })).toEqual([{ type: 'sendCredit', bytes: window / 2 }]);
    machine.step({ type: 'fin' });
    expect(machine.step({ type: 'consumed', bytes: window / 2 })).toEqual([]);
  });

  it('closes when both directions have ended and everything is consumed', () => {
    const machine = answers();
    machine.step({ type: 'accept' }, { type: 'data', bytes: 7 });
    expect(machine.step({ type: 'fin' })).toEqual([{ type: 'ended' }]);
    expect(machine.step({ type: 'end' })).toEqual([{ type: 'sendFin' }]);
    expect(machine.step({ type: 'consumed', bytes: 7 })).toEqual([{ type: 'closed', sendReset: false }]);
  });

  it('treats it as an orderly end when the finished other side hangs up first', () => {
    const machine = answers();
    machine.step({ type: 'accept' }, { type: 'data', bytes: 7 }, { type: 'fin' }, { type: 'end' });
    expect(machine.step({ type: 'lost' })).toEqual([{ type: 'closed', sendReset: false }]);
  });
});

describe('a peer that breaks the rules gets a reset and loses the stream', () => {
  const open = () => {
    const machine = answers();
    machine.step({ type: 'accept' });
    return machine;
  };

  it.each<[string, () => Machine, StreamInput[], string]>([
    ['data beyond the credit', open, [{ type: 'data', bytes: window + 1 }], 'FlowControl'],
    [
      'a byte too many, later',
      open,
      [
        { type: 'data', bytes: window },
        { type: 'data', bytes: 1 },
      ],
      'FlowControl',
    ],
    ['credit beyond what there may be', open, [{ type: 'credit', bytes: creditBytesMax }], 'FlowControl'],
    ['credit that no number can hold', open, [{ type: 'credit', bytes: Number.MAX_SAFE_INTEGER }], 'FlowControl'],
    ['no credit at all', open, [{ type: 'credit', bytes: 0 }], 'Protocol'],
    ['data without data', open, [{ type: 'data', bytes: 0 }], 'Protocol'],
    ['data behind the end', open, [{ type: 'fin' }, { type: 'data', bytes: 1 }], 'Protocol'],
    ['a second end', open, [{ type: 'fin' }, { type: 'fin' }], 'Protocol'],
    ['data before the stream was taken', answers, [{ type: 'data', bytes: 1 }], 'Protocol'],
    ['data before it took the stream', asks, [{ type: 'data', bytes: 1 }], 'Protocol'],
    ['an end before it took the stream', asks, [{ type: 'fin' }], 'Protocol'],
    ['credit before the stream was taken', answers, [{ type: 'credit', bytes: 1 }], 'Protocol'],
  ])('%s', (_, make, inputs, code) => {
    const machine = make();
    const effects = machine.step(...inputs);
    expect(effects.at(-1)).toMatchObject({ type: 'closed', sendReset: true, why: { code } });
    expect(machine.state.phase).toBe('closed');
    expect(
      machine.step({ type: 'data', bytes: 1 }, { type: 'fin' }, { type: 'reset' }, { type: 'write', bytes: 3 }),
    ).toEqual([]);
  });
});

describe('any input in any order', () => {
  const amount = fc.oneof(
    fc.integer({ min: 0, max: 40_000 }),
    fc.constantFrom(0, 1, window, creditBytesMax, 2 ** 53 - 1),
  );
  const input: fc.Arbitrary<StreamInput> = fc.oneof(
    {
      weight: 3,
      arbitrary: fc.record({ type: fc.constantFrom('write' as const), bytes: fc.integer({ min: 1, max: 50_000 }) }),
    },
    { weight: 6, arbitrary: fc.record({ type: fc.constantFrom('data' as const, 'credit' as const), bytes: amount }) },
    fc.record({
      type: fc.constantFrom(
        'end' as const,
        'fin' as const,
        'reset' as const,
        'lost' as const,
        'drained' as const,
        'deadline' as const,
      ),
    }),
  );

  it('gives one close at most, nothing after it, never more data than credit, and no exceeded window', () => {
    fc.assert(
      fc.property(fc.boolean(), fc.array(input, { maxLength: 60 }), (asking, inputs) => {
        const machine = asking ? asks() : answers();
        let credited = asking ? 0 : window;
        let sent = 0;
        let closes = 0;
        const run = (one: StreamInput) => {
          if (closes === 0 && one.type === 'credit') credited += one.bytes;
          const effects = machine.step(one);
          expect(closes === 0 || effects.length === 0).toBe(true);
          for (const effect of effects) {
            if (effect.type === 'closed') closes++;
            if (effect.type !== 'sendData') continue;
            sent += effect.bytes;
            run({ type: 'sent', full: false });
          }
          const { granted, held, owed, phase, windowBytes } = machine.state;
          if (phase === 'open') expect(granted + held + owed).toBe(windowBytes);
        };
        if (!asking) run({ type: 'accept' });
        for (const one of inputs) run(one);
        expect(sent).toBeLessThanOrEqual(credited);
        expect(closes).toBeLessThanOrEqual(1);
      }),
      { seed: 5, numRuns: 2_000 },
    );
  });
});
