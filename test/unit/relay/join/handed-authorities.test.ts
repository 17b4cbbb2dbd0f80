import { expect, it } from 'vitest';
import type { AuthoritiesAttributes } from '../../../../core/entries/down-attributes.ts';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { HandedAuthorities } from '../../../../relay/join/handed-authorities.ts';

it('hands on what the parent says, and notices by itself when the node signs with another authority', () => {
  const clock = new VirtualClock(0);
  let signsWith = 'former';
  let handed: AuthoritiesAttributes | undefined;
  let received = () => {};
  let changes = 0;
  const node = new HandedAuthorities({
    trust: {
      handedDown: (signing) => handed && { ...handed, ...(signing[0] ? { signsWith: signing[0] } : {}) },
      onChange: (changed) => {
        received = changed;
      },
    },
    signer: { chains: () => [signsWith] },
    clock,
    changed: () => changes++,
  });
  expect(node.present()).toBeUndefined();
  handed = { bundle: 'both' };
  received();
  expect([node.present(), changes]).toEqual([{ bundle: 'both', signsWith: 'former' }, 1]);
  node.start();
  clock.advance(60_000);
  expect(changes).toBe(1);
  signsWith = 'next';
  clock.advance(60_000);
  expect([node.present(), changes]).toEqual([{ bundle: 'both', signsWith: 'next' }, 2]);
  node.stop();
  signsWith = 'third';
  clock.advance(60_000);
  expect(changes).toBe(2);
});
