import { describe, expect, it } from 'vitest';
import { isTaken, type Seen } from '../../../sim/check/lost-rows.ts';

const source = 'center.retail';
const key = `o/${source}//configmaps/w/o`;
const p = (name: string) => `p/${source}/${name}`;
const place = { path: 'r:a', labels: { env: 'prod' }, annotations: {}, properties: {} };

const row = (originRevision: number, attributes: object, body: object = {}): Seen => ({
  originRevision,
  attributes: Buffer.from(JSON.stringify(attributes)),
  body: Buffer.from(JSON.stringify(body)),
});
const object = (revision: number, ...refs: string[]) => row(revision, { refs });
const placement = (revision: number, env: string) =>
  row(revision, {}, { spec: { locationSelectors: [{ matchLabels: { env } }] } });

function taken(upstream: Record<string, Seen>, atOrigin: Record<string, Seen>): boolean {
  return isTaken(place, {
    source,
    key,
    upstream: new Map(Object.entries(upstream)),
    atOrigin: new Map(Object.entries(atOrigin)),
  });
}

describe('an object of a restored origin', () => {
  it('may be missing if a newer row of it names no placement that reaches the agent', () => {
    const placements = { [p('here')]: placement(3, 'prod'), [p('there')]: placement(4, 'test') };
    const atOrigin = { [key]: object(5, 'here', 'there'), ...placements };
    expect(taken({ [key]: object(9, 'there'), ...placements }, atOrigin)).toBe(true);
    expect(taken({ [key]: object(9, 'here'), ...placements }, atOrigin)).toBe(false);
  });

  it('may be missing if a newer row of its placement names other places', () => {
    const atOrigin = { [key]: object(5, 'here'), [p('here')]: placement(3, 'prod') };
    expect(taken({ [key]: object(5, 'here'), [p('here')]: placement(9, 'test') }, atOrigin)).toBe(true);
    expect(taken({ [key]: object(5, 'here'), [p('here')]: placement(9, 'prod') }, atOrigin)).toBe(false);
  });

  it('may be missing if its Namespace may', () => {
    const namespace = `o/${source}//namespaces//w`;
    const placements = { [p('here')]: placement(3, 'prod'), [p('there')]: placement(4, 'test') };
    const atOrigin = { [key]: object(5, 'here'), [namespace]: object(5, 'here', 'there'), ...placements };
    expect(taken({ ...atOrigin, [namespace]: object(9, 'there') }, atOrigin)).toBe(true);
    expect(taken({ ...atOrigin, [namespace]: object(9, 'here') }, atOrigin)).toBe(false);
    expect(taken({ ...atOrigin, [namespace]: object(4, 'there') }, atOrigin)).toBe(false);
  });

  it('may not be missing if nothing below is newer than its origin', () => {
    const atOrigin = { [key]: object(5, 'here'), [p('here')]: placement(3, 'prod') };
    expect(taken(atOrigin, atOrigin)).toBe(false);
    expect(taken({ [key]: object(4), [p('here')]: placement(2, 'test') }, atOrigin)).toBe(false);
  });
});
