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

function said(ports: Partial<MissingFromChildPorts>): string | undefined {
  return missingFromChild({ ...nothing, ...ports }, 'store');
}

const releases = (child: string) => `a release of ${child}`;
const seen = (child: string) => `seen by ${child}`;
const unmatched = expect.stringContaining('has not yet sent all objects that match');

describe('the missing reports before a child gets anything', () => {
  it('are none if everything is here', () => {
    expect(said({})).toBeUndefined();
    expect(said({ hasReplicas: true })).toBeUndefined();
    expect(said({ parentHasReplicas: () => true })).toBeUndefined();
  });

  it('are those of the parent, below one of its kind and below replicas', () => {
    const hasReceivedFromParent = () => false;
    expect(said({ hasReceivedFromParent })).toBe("this node has not yet received its parent's feed");
    expect(said({ hasReceivedFromParent, parentHasReplicas: () => true, childAhead: seen })).toBe(
      "this node has not yet received its parent's feed",
    );
  });

  it('are, at a replica, what another replica handed out, and then what the labels there match', () => {
    expect(said({ hasReplicas: true, releases, isMatched: () => false })).toBe('a release of store');
    expect(said({ hasReplicas: true, isMatched: (child) => child !== 'store' })).toEqual(unmatched);
  });

  it('are, below replicas, what the child has received from another, and then what the labels there match', () => {
    const below = { parentHasReplicas: () => true };
    expect(said({ ...below, childAhead: seen, isMatched: () => false })).toBe('seen by store');
    expect(said({ ...below, isMatched: (child) => child !== 'store' })).toEqual(unmatched);
  });

  it('are never reports that only a replica can have sent', () => {
    expect(said({ releases, childAhead: seen, isMatched: () => false })).toBeUndefined();
  });
});
