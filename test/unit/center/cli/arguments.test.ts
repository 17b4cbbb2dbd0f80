import { describe, expect, it } from 'vitest';
import {
  byteCount,
  didYouMean,
  kindAndName,
  nodePath,
  seconds,
  spaceContext,
} from '../../../../center/cli/arguments.ts';
import { UsageError } from '../../../../center/cli/usage-error.ts';

describe('what is written on the command line', () => {
  it('is a path of a node, of a replica, or the center', () => {
    expect(['center', 'eu', 'eu:paris:store-17', 'eu~1'].map(nodePath)).toEqual([
      '',
      'eu',
      'eu:paris:store-17',
      'eu~1',
    ]);
  });

  it.each<[string, () => unknown, RegExp]>([
    // A script variable that is not set gives an empty argument, which must not mean the center.
    ['an empty path', () => nodePath(''), /^"" is no path of a node, such as eu:paris or center/],
    ['a path with an empty name', () => nodePath('eu::paris'), /"eu::paris" is no path/],
    ['a path in capitals', () => nodePath('EU'), /"EU" is no path/],
    ['a slash for a colon', () => nodePath('eu/paris'), /"eu\/paris" is no path/],
    ['no time', () => seconds('soon'), /^--timeout: "soon" is not a number of seconds above 0/],
    ['a time of nothing', () => seconds('0'), /^--timeout: "0"/],
    ['no bytes', () => byteCount('-1'), /^--bytes: "-1" is not a number of bytes/],
    ['a kind alone', () => kindAndName('deployment', 'KIND/NAME'), /^"deployment" is not of the form KIND\/NAME/],
    ['too many parts', () => kindAndName('a/b/c', 'KIND/NAME'), /^"a\/b\/c" is not of the form/],
    [
      'a node for a space',
      () => spaceContext('node/eu', ''),
      /^--space: "node\/eu" is no context of a space: name one/,
    ],
    [
      'a cluster in use',
      () => spaceContext(undefined, 'cluster/hq'),
      /^the current context of the kubeconfig: "cluster\/hq"/,
    ],
  ])('is refused as bad usage: %s', (_, parse, message) => {
    expect(parse).toThrow(UsageError);
    expect(parse).toThrow(message);
  });

  it('is compared with the existing names', () => {
    expect(didYouMean('pariss', ['paris', 'berlin'], 'x lists all')).toBe('did you mean "paris"?');
    expect(didYouMean('tokyo', ['paris', 'berlin'], 'x lists all')).toBe('x lists all');
  });
});
