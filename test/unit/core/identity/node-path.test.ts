import { describe, expect, it } from 'vitest';
import {
  ancestorsOf,
  childPath,
  childTowards,
  comparePaths,
  isAtOrBelow,
  isBelow,
  objectName,
  replicaNodePath,
  sharedPath,
} from '../../../../core/identity/node-path.ts';

describe('the order of paths', () => {
  it('keeps every subtree together when one name begins with another', () => {
    const inOrder = [
      '',
      'eu',
      'eu:paris',
      'eu:paris:rivoli',
      'eu:paris-2',
      'eu~1',
      'eu~2',
      'eu-west',
      'eu-west:lab',
      'eu0',
    ];
    expect([...inOrder].reverse().sort(comparePaths)).toEqual(inOrder);
  });

  it('is total, also for replicas with numbers of two digits', () => {
    expect(['eu~10', 'eu~9', 'eu'].sort(comparePaths)).toEqual(['eu', 'eu~9', 'eu~10']);
    expect(comparePaths('eu:paris', 'eu:paris')).toBe(0);
  });
});

describe('a path below another', () => {
  it('is recognised by names, and not by the text', () => {
    expect(isBelow('eu-west', 'eu')).toBe(false);
    expect(isBelow('eu-west:lab', 'eu')).toBe(false);
    expect(isBelow('eu:lab', 'eu')).toBe(true);
    expect([isBelow('eu', 'eu'), isAtOrBelow('eu', 'eu')]).toEqual([false, true]);
    expect([isBelow('', ''), isAtOrBelow('', ''), isBelow('eu', '')]).toEqual([false, true, true]);
  });

  it('lies at or below one child', () => {
    expect(childTowards('eu', 'eu:paris:rivoli')).toBe('paris');
    expect(childTowards('', 'eu:paris:rivoli')).toBe('eu');
    expect(childTowards('eu', 'eu-west:lab')).toBeUndefined();
    expect(childTowards('eu', 'eu')).toBeUndefined();
  });

  it('has all nodes above it among its ancestors, the root first', () => {
    expect(ancestorsOf('eu:paris:rivoli')).toEqual(['', 'eu', 'eu:paris']);
    expect(ancestorsOf('')).toEqual([]);
  });
});

describe('the path of a child', () => {
  it('is the path of its parent with its name, and below the root the name alone', () => {
    expect(childPath('eu:paris', 'store-17')).toBe('eu:paris:store-17');
    expect(childPath('', 'eu')).toBe('eu');
  });

  it('is shared by replicas, which are shown separately', () => {
    expect(childPath('eu', 'paris~1')).toBe('eu:paris');
    expect(replicaNodePath('eu', 'paris~1')).toBe('eu:paris~1');
  });
});

describe('the name of the object of a node', () => {
  it('is a valid Kubernetes name, and differs for any two paths', () => {
    expect(['', 'eu', 'eu:paris~1'].map(objectName)).toEqual(['center', 'eu', 'eu.paris--1']);
  });
});

it('has one path for all replicas, at every level', () => {
  expect(['', 'eu', 'eu~1', 'eu~1:paris~2'].map(sharedPath)).toEqual(['', 'eu', 'eu', 'eu:paris']);
});
