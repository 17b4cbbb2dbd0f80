import { describe, expect, it } from 'vitest';
import { type BehindPorts, missingFromChild } from '../../../../relay/replicas/missing-from-child.ts';

const nothing: BehindPorts = {
  hasSiblings: false,
  hasHeardParent: () => true,
  parentHasSiblings: () => false,
  releases: () => undefined,
  seenBelow: () => undefined,
  isMatched: () => true,
};

function said(ports: Partial<BehindPorts>): string | undefined {
  return missingFromChild({ ...nothing, ...ports }, 'store');
}

const releases = (child: string) => `a release of ${child}`;
const seen = (child: string) => `seen by ${child}`;
const unmatched = expect.stringContaining('has not yet sent all that they match');

describe('what is to be heard before a child is told anything', () => {
  it('is nothing where all is here', () => {
    expect(said({})).toBeUndefined();
    expect(said({ hasSiblings: true })).toBeUndefined();
    expect(said({ parentHasSiblings: () => true })).toBeUndefined();
  });

  it('is the parent, below one of its kind and below siblings', () => {
    const hasHeardParent = () => false;
    expect(said({ hasHeardParent })).toBe('the parent was not heard yet');
    expect(said({ hasHeardParent, parentHasSiblings: () => true, seenBelow: seen })).toBe(
      'the parent was not heard yet',
    );
  });

  it('is at one of several siblings what another handed out, and then what the labels there match', () => {
    expect(said({ hasSiblings: true, releases, isMatched: () => false })).toBe('a release of store');
    expect(said({ hasSiblings: true, isMatched: (child) => child !== 'store' })).toEqual(unmatched);
  });

  it('is below siblings what the child has seen of another, and then what the labels there match', () => {
    const below = { parentHasSiblings: () => true };
    expect(said({ ...below, seenBelow: seen, isMatched: () => false })).toBe('seen by store');
    expect(said({ ...below, isMatched: (child) => child !== 'store' })).toEqual(unmatched);
  });

  it('is not what only siblings can have told', () => {
    expect(said({ releases, seenBelow: seen, isMatched: () => false })).toBeUndefined();
  });
});
