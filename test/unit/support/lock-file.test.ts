import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { licencesPage } from '../../support/licences.ts';
import { entriesWithoutIntegrity, type LockFile, shippedPackages } from '../../support/lock-file.ts';

const digest = 'sha512-AAAA';
const lock: LockFile = {
  packages: {
    '': { version: '1.0.0' },
    'node_modules/b': { version: '2.0.0', license: 'MIT', integrity: digest },
    'node_modules/b/node_modules/@s/a': { version: '1.1.0', license: 'ISC', integrity: 'sha1-BBBB' },
    'node_modules/dev': { version: '3.0.0', license: 'MIT', dev: true },
    'node_modules/c-win32': { version: '2.0.0', optional: true, integrity: digest },
  },
};

describe('the lock file', () => {
  it('has a SHA-512 of every package, on every platform', () => {
    const own = JSON.parse(readFileSync('package-lock.json', 'utf8')) as LockFile;
    expect(entriesWithoutIntegrity(own).map(([folder]) => folder)).toEqual([]);
    expect(Object.keys(own.packages).length).toBeGreaterThan(300);
  });

  it('lacks a digest where an entry has none or a weak one', () => {
    expect(entriesWithoutIntegrity(lock).map(([folder]) => folder)).toEqual([
      'node_modules/b/node_modules/@s/a',
      'node_modules/dev',
    ]);
  });

  it('names the packages that ship', () => {
    expect(shippedPackages(lock).map(({ name, version }) => `${name} ${version}`)).toEqual([
      '@s/a 1.1.0',
      'b 2.0.0',
      'c-win32 2.0.0',
    ]);
  });

  it('lets no package without a licence ship', () => {
    expect(licencesPage(lock)).toMatch(/\| `b` +\| 2\.0\.0 +\| MIT /);
    const silent = { packages: { ...lock.packages, 'node_modules/d': { version: '1.0.0', integrity: digest } } };
    expect(() => licencesPage(silent)).toThrow('package-lock.json has no licence for d');
  });
});
