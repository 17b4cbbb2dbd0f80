import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { CopyLog } from '../../../../relay/fleet/copy-log.ts';
import { decodeToken, encodeToken } from '../../../../relay/fleet/list-token.ts';
import { type Position, Positions } from '../../../../relay/fleet/positions.ts';

const relays = (count: number) => new Map(Array.from({ length: count }, (_, i) => [`r${i}`, '1'] as const));
const position = (count = 0): Position => ({ local: 1, read: new Map(), relays: relays(count) });

describe('positions', () => {
  it('have numbers that only grow and that a later process does not use again', () => {
    const clock = new VirtualClock();
    const before = new Positions(clock);
    const numbers = Array.from({ length: 5 }, () => Number(before.keep(position())));
    expect([...numbers].sort((a, b) => a - b)).toEqual(numbers);
    expect(new Set(numbers).size).toBe(5);
    clock.advance(10);
    expect(Number(new Positions(clock).keep(position()))).toBeGreaterThan(numbers.at(-1)!);
  });

  it('are kept up to a bound of places, and are then too old', () => {
    const positions = new Positions(new VirtualClock());
    const first = positions.keep(position(995));
    for (let i = 0; i < 99; i++) positions.keep(position(995));
    expect(positions.get(first).relays.size).toBe(995);
    positions.keep(position(0));
    expect(() => positions.get(first)).toThrow(/too old, or of another node; list again/);
  });

  it('count the places that a list adds later', () => {
    const positions = new Positions(new VirtualClock());
    const first = positions.keep(position(90_000));
    const list = position();
    const second = positions.keep(list);
    for (let i = 0; i < 20_000; i++) list.relays.set(`r${i}`, '1');
    positions.recount(second);
    expect(positions.get(second)).toBe(list);
    expect(() => positions.get(first)).toThrow(/too old/);
  });

  it('are kept if one alone has more places than the bound', () => {
    const positions = new Positions(new VirtualClock());
    expect(positions.get(positions.keep(position(100_001))).relays.size).toBe(100_001);
  });

  it('of another node are refused with 410', () => {
    expect(() => new Positions(new VirtualClock()).get('17')).toThrow(expect.objectContaining({ code: 'Expired' }));
  });
});

describe('a continue token', () => {
  const token = { position: '17', after: { path: 'eu~1:paris:s1', namespace: 'shop', name: 'till' } };

  it('names the position of the list and the place after which the next page begins', () => {
    expect(decodeToken(encodeToken(token))).toEqual(token);
  });

  it('of another version is too old', () => {
    const other = Buffer.from(JSON.stringify({ v: 2, where: 'elsewhere' })).toString('base64url');
    expect(() => decodeToken(other)).toThrow(expect.objectContaining({ code: 'Expired' }));
  });

  it.each([
    'x',
    '',
    Buffer.from('[]').toString('base64url'),
    Buffer.from('{"v":1,"position":7}').toString('base64url'),
  ])('that is none (%j) is a wrong value', (text) => {
    expect(() => decodeToken(text)).toThrow(expect.objectContaining({ code: 'BadRequest' }));
  });
});

describe('the log of copies', () => {
  const entry = { child: 's1', id: 'apps/deployments/shop/till' };

  it('has the changes after a revision', () => {
    const log = new CopyLog();
    log.add(entry);
    const from = log.skip();
    log.add({ ...entry, id: 'b' });
    expect(log.after(from)).toEqual([{ ...entry, id: 'b', revision: 3 }]);
    expect(log.after(log.revision)).toEqual([]);
  });

  it('has a bound, and says when it does not have all changes', () => {
    const log = new CopyLog();
    for (let i = 0; i < 20_001; i++) log.add(entry);
    expect(log.after(0)).toBe('expired');
    expect(log.after(10_000)).toHaveLength(10_001);
  });
});
