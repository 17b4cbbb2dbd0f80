import { describe, expect, it } from 'vitest';
import { FairQueue, lightPerHeavy, turnBounds } from '../../../../../core/apiserver/http/fair-queue.ts';
import { RequestTurns } from '../../../../../core/apiserver/http/request-turns.ts';
import { refusal } from '../kinds/space-support.ts';

describe('the order of waiting requests', () => {
  const rest = (queue: FairQueue<string>) => {
    const order: string[] = [];
    for (let next = queue.next(); next !== undefined; next = queue.next()) order.push(next);
    return order;
  };

  it('gives each flow one turn after the other, in the order in which its requests came', () => {
    const queue = new FairQueue<string>();
    for (const request of ['a1', 'a2', 'a3', 'b1', 'c1', 'c2']) queue.add({ flow: request[0]!, bytes: 10 }, request);
    expect([queue.size, rest(queue), queue.size]).toEqual([6, ['a1', 'b1', 'c1', 'a2', 'c2', 'a3'], 0]);
  });

  it('lets a flow that comes again wait behind the others', () => {
    const queue = new FairQueue<string>();
    for (const request of ['a1', 'b1']) queue.add({ flow: request[0]!, bytes: 0 }, request);
    expect(queue.next()).toBe('a1');
    queue.add({ flow: 'a', bytes: 0 }, 'a2');
    expect(rest(queue)).toEqual(['b1', 'a2']);
  });

  it('lets the first request of a flow go first, and its next one after a turn of every other flow', () => {
    const queue = new FairQueue<string>();
    for (const request of ['a1', 'a2', 'a3', 'a4', 'a5']) queue.add({ flow: 'a', bytes: 0 }, request);
    expect([queue.next(), queue.next()]).toEqual(['a1', 'a2']);
    queue.add({ flow: 'b', bytes: 0 }, 'b1');
    expect(queue.next()).toBe('b1');
    queue.add({ flow: 'b', bytes: 0 }, 'b2');
    expect([queue.next(), queue.next(), queue.next()]).toEqual(['a3', 'b2', 'a4']);
    // The turn of b came while b asked nothing. So b may go first again.
    queue.next();
    queue.add({ flow: 'a', bytes: 0 }, 'a6');
    queue.add({ flow: 'b', bytes: 0 }, 'b3');
    expect(rest(queue)).toEqual(['b3', 'a6']);
  });

  it('lets light requests pass heavy ones', () => {
    const queue = new FairQueue<string>();
    for (const request of ['L1', 'L2', 'L3']) queue.add({ flow: 'a', bytes: 1_000_000 }, request);
    queue.add({ flow: 'b', bytes: 1_000_000 }, 'M1');
    for (const request of ['s1', 's2']) queue.add({ flow: 'a', bytes: 100 }, request);
    expect(rest(queue)).toEqual(['s1', 's2', 'L1', 'M1', 'L2', 'L3']);
  });

  it('treats the further turns of a request, which are parts of a long list, as heavy', () => {
    const queue = new FairQueue<string>();
    queue.add({ flow: 'a', bytes: 0, isFurther: true }, 'list');
    queue.add({ flow: 'a', bytes: 0 }, 'get');
    expect(rest(queue)).toEqual(['get', 'list']);
  });

  it('lets a heavy request wait for a limited number of light ones', () => {
    const queue = new FairQueue<string>();
    for (let i = 0; i < 2 * lightPerHeavy; i++) queue.add({ flow: 'a', bytes: 0 }, 'light');
    for (const request of ['L1', 'L2']) queue.add({ flow: 'b', bytes: 1_000_000 }, request);
    const order = rest(queue);
    expect([order.indexOf('L1'), order.indexOf('L2')]).toEqual([lightPerHeavy, 2 * lightPerHeavy + 1]);
  });

  it('has bounds for a flow and for all of them, for requests and for bytes', async () => {
    const full = new FairQueue<number>();
    for (let i = 0; i < turnBounds.flowWaiting; i++) full.add({ flow: 'a', bytes: 1 }, i);
    const message = `${turnBounds.flowWaiting} of your requests to this space wait, with bodies of ${turnBounds.flowWaiting} bytes: send fewer at once, or try again later`;
    expect(await refusal(() => full.add({ flow: 'a', bytes: 1 }, 0))).toMatchObject({
      code: 'TooManyRequests',
      message,
    });
    full.add({ flow: 'b', bytes: 1 }, 0);
    const heavy = new FairQueue<number>();
    heavy.add({ flow: 'a', bytes: turnBounds.flowBytes }, 0);
    expect(await refusal(() => heavy.add({ flow: 'a', bytes: 20_000 }, 0))).toMatchObject({ code: 'TooManyRequests' });
    const many = new FairQueue<number>();
    for (let i = 0; i < turnBounds.waiting; i++) many.add({ flow: `user-${i}`, bytes: 0 }, i);
    expect(await refusal(() => many.add({ flow: 'one more', bytes: 0 }, 0))).toMatchObject({ code: 'TooManyRequests' });
    const large = new FairQueue<number>();
    for (let i = 0; i < turnBounds.bytes / turnBounds.flowBytes; i++)
      large.add({ flow: `user-${i}`, bytes: turnBounds.flowBytes }, i);
    expect(await refusal(() => large.add({ flow: 'one more', bytes: 1 }, 0))).toMatchObject({
      code: 'TooManyRequests',
    });
    large.next();
    large.add({ flow: 'one more', bytes: 1 }, 0);
  });
});

describe('turns in the thread', () => {
  function bench() {
    const rounds: (() => void)[] = [];
    const log: string[] = [];
    const turns = new RequestTurns((act) => rounds.push(act));
    const ask = (name: string, isGone = () => false) =>
      void turns.take({ flow: name[0]!, bytes: 0 }, isGone).then(() => log.push(name));
    const round = async () => {
      rounds.shift()?.();
      await new Promise((done) => setImmediate(done));
      return log.splice(0);
    };
    return { ask, round, rounds };
  }

  it('begin at once while nobody works, and then one in each round of the thread', async () => {
    const { ask, round, rounds } = bench();
    for (const name of ['a1', 'a2', 'b1']) ask(name);
    await Promise.resolve();
    expect([await round(), await round(), await round()]).toEqual([['a1', 'a2'], ['b1'], []]);
    expect(rounds).toHaveLength(0);
  });

  it('are not given to a client that is gone', async () => {
    const { ask, round } = bench();
    ask('a1');
    ask('b1', () => true);
    ask('c1');
    expect([await round(), await round()]).toEqual([['a1', 'c1'], []]);
  });
});
