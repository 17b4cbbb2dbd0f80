import { describe, expect, it } from 'vitest';
import {
  agentPath,
  byteCount,
  didYouMean,
  kindAndName,
  label,
  nodePath,
  pathWithoutReplica,
  placementName,
  seconds,
  secretName,
  spaceContext,
  timeToLive,
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
    ['no bytes', () => byteCount('-1'), /^--bytes: "-1" must be a whole number from 0 to 9999999999$/],
    ['a path with an empty name in the middle', () => nodePath('eu::paris'), /: name 2 of 3 is empty$/],
    ['a name in capitals', () => nodePath('eu:Paris'), /: "Paris": use lower case: "paris"$/],
    [
      'a replica for ping',
      () => pathWithoutReplica('eu~1'),
      /^"eu~1" is one replica of eu; ping takes a path, such as eu; for this replica: npm exec -- banyan ping eu --from eu~1$/,
    ],
    ['a path of an agent in capitals', () => agentPath('eu:Paris'), /^"eu:Paris" is no path of a node/],
    ['an empty path of an agent', () => agentPath(''), /^"" is no path of a node/],
    ['the center for an agent', () => agentPath('center'), /^"center" is no path of a node/],
    ['a time of no unit', () => timeToLive('24'), /^--ttl: "24": the unit is missing; write 24m, 24h or 24d$/],
    ['a time to live of nothing', () => timeToLive('0h'), /^--ttl: "0h" is no time; write 30m, 24h or 7d$/],
    ['a long time to live', () => timeToLive('31d'), /^--ttl: "31d" is too long; at most 30d$/],
    ['a label without value', () => label('env', {}), /^--label: "env" is not of the form key=value/],
    ['a label with two values', () => label('env=a=b', {}), /^--label: "env=a=b" is not of the form key=value/],
    ['a label with a space', () => label('env=no spaces', {}), /^--label: "env=no spaces": use letters, digits/],
    ['a bad name of a Secret', () => secretName('Not_A_Name'), /^--secret: "Not_A_Name": use a-z/],
    ['a placement without kind', () => placementName('foo'), /^"foo" is not of the form epl\/NAME; write epl\/foo$/],
    ['another kind', () => placementName('deploy/x'), /^"deploy\/x" is not of the form epl\/NAME; write epl\/x$/],
    ['a kind alone', () => kindAndName('deployment', 'KIND/NAME'), /^"deployment" is not of the form KIND\/NAME/],
    ['too many parts', () => kindAndName('a/b/c', 'KIND/NAME'), /^"a\/b\/c" is not of the form/],
    ['a node for a space', () => spaceContext('node/eu'), /^--space: "node\/eu" is no context of a space: name one/],
    [
      'a cluster in use',
      () => spaceContext('cluster/hq', 'the current context of the kubeconfig'),
      /^the current context of the kubeconfig: "cluster\/hq"/,
    ],
  ])('is refused as bad usage: %s', (_, parse, message) => {
    expect(parse).toThrow(UsageError);
    expect(parse).toThrow(message);
  });

  it('is compared with the existing names', () => {
    expect(didYouMean('pariss', ['paris', 'berlin'], 'for a list: x')).toBe('did you mean "paris"?');
    expect(didYouMean('tokyo', ['paris', 'berlin'], 'for a list: x')).toBe('for a list: x');
    expect(didYouMean('x', ['a'], 'for a list: x')).toBe('for a list: x');
  });

  it('is a time to live, and labels', () => {
    expect(['30m', '24h', '7d'].map(timeToLive)).toEqual([1_800_000, 86_400_000, 604_800_000]);
    expect(label('tier=store', label('env=prod', {}))).toEqual({ env: 'prod', tier: 'store' });
  });
});
