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

describe('what is to be heard before a child is told anything', () => {
  it('is nothing where all is here', () => {
    expect(said({})).toBeUndefined();
    expect(said({ hasReplicas: true })).toBeUndefined();
    expect(said({ parentHasReplicas: () => true })).toBeUndefined();
  });

  it('is the parent, below one of its kind and below siblings', () => {
    const hasReceivedFromParent = () => false;
    expect(said({ hasReceivedFromParent })).toBe("this node has not yet received its parent's feed");
    expect(said({ hasReceivedFromParent, parentHasReplicas: () => true, childAhead: seen })).toBe(
      "this node has not yet received its parent's feed",
    );
  });

  it('is at one of several siblings what another handed out, and then what the labels there match', () => {
    expect(said({ hasReplicas: true, releases, isMatched: () => false })).toBe('a release of store');
    expect(said({ hasReplicas: true, isMatched: (child) => child !== 'store' })).toEqual(unmatched);
  });

  it('is below siblings what the child has seen of another, and then what the labels there match', () => {
    const below = { parentHasReplicas: () => true };
    expect(said({ ...below, childAhead: seen, isMatched: () => false })).toBe('seen by store');
    expect(said({ ...below, isMatched: (child) => child !== 'store' })).toEqual(unmatched);
  });

  it('is not what only siblings can have told', () => {
    expect(said({ releases, childAhead: seen, isMatched: () => false })).toBeUndefined();
  });
});
