import { describe, expect, it } from 'vitest';
import { inheritedBelow, pathLabels } from '../../../../relay/children/inherited-labels.ts';

describe('the labels of a path', () => {
  it('are one for each relay on the path, and one for the path as a whole', () => {
    expect(pathLabels('eu:paris')).toEqual({
      'tree.banyan.io/1': 'eu',
      'tree.banyan.io/2': 'paris',
      'tree.banyan.io/path': 'eu.paris',
    });
  });

  it('are none at the center', () => {
    expect(pathLabels('')).toEqual({});
  });

  it('omit the whole path if it is longer than a label value may be', () => {
    const at = (length: number) => pathLabels(`eu:${'p'.repeat(length - 3)}`);
    expect(at(63)).toHaveProperty(['tree.banyan.io/path']);
    expect(at(64)).toEqual({ 'tree.banyan.io/1': 'eu', 'tree.banyan.io/2': 'p'.repeat(61) });
  });
});

describe('the labels that Locations below a relay inherit', () => {
  it('are those that the relay itself inherits, with its own labels over them', () => {
    const labels = inheritedBelow('eu:paris', { region: 'eu', tier: 'old' }, { tier: 'new', city: 'paris' });
    expect(labels).toEqual({ region: 'eu', tier: 'new', city: 'paris', ...pathLabels('eu:paris') });
  });

  it('have the path of that relay, and nothing of the path above', () => {
    const above = { ...pathLabels('old:place:deeper'), region: 'eu' };
    expect(inheritedBelow('eu', above, {})).toEqual({ region: 'eu', ...pathLabels('eu') });
  });

  it('ignore a path label that the relay gives itself', () => {
    const claimed = { 'tree.banyan.io/1': 'us', 'tree.banyan.io/7': 'x', 'tree.banyan.io/path': 'us' };
    expect(inheritedBelow('eu', {}, claimed)).toEqual(pathLabels('eu'));
  });

  it('are none below the center', () => {
    expect(inheritedBelow('', {}, { region: 'hq' })).toEqual({});
  });
});
