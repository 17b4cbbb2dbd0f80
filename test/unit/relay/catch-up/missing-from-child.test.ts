import { describe, expect, it } from 'vitest';
import { type MissingFromChildPorts, missingFromChild } from '../../../../relay/catch-up/missing-from-child.ts';

const nothing: MissingFromChildPorts = {
  hasReplicas: false,
  hasReceivedFromParent: () => true,
  parentHasReplicas: () => false,
  releases: () => undefined,
  childAhead: () => undefined,
  isMatched: () => true,
};

function missing(ports: Partial<MissingFromChildPorts>): string | undefined {
  return missingFromChild({ ...nothing, ...ports }, 'store');
}

const releases = (child: string) => `a release of ${child}`;
const seen = (child: string) => `seen by ${child}`;
const unmatched = expect.stringContaining('has not yet sent all objects that match');

describe('what a node has to receive before it sends a child anything', () => {
  it('is nothing if everything has arrived', () => {
    expect(missing({})).toBeUndefined();
    expect(missing({ hasReplicas: true })).toBeUndefined();
    expect(missing({ parentHasReplicas: () => true })).toBeUndefined();
  });

  it('is the feed of the parent, with and without replicas of the parent', () => {
    const hasReceivedFromParent = () => false;
    expect(missing({ hasReceivedFromParent })).toBe("this node has not yet received its parent's feed");
    expect(missing({ hasReceivedFromParent, parentHasReplicas: () => true, childAhead: seen })).toBe(
      "this node has not yet received its parent's feed",
    );
  });

  it('is, at a replica, what another replica handed out, and then what the labels of the child match', () => {
    expect(missing({ hasReplicas: true, releases, isMatched: () => false })).toBe('a release of store');
    expect(missing({ hasReplicas: true, isMatched: (child) => child !== 'store' })).toEqual(unmatched);
  });

  it('is, below replicas, what the child has received by another replica, and then what the labels of the child match', () => {
    const below = { parentHasReplicas: () => true };
    expect(missing({ ...below, childAhead: seen, isMatched: () => false })).toBe('seen by store');
    expect(missing({ ...below, isMatched: (child) => child !== 'store' })).toEqual(unmatched);
  });

  it('is nothing that only replicas can have sent, where there are none', () => {
    expect(missing({ releases, childAhead: seen, isMatched: () => false })).toBeUndefined();
  });
});
