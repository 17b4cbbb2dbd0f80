/** The lock file, as the scripts of the supply chain read it: https://docs.npmjs.com/cli/configuring-npm/package-lock-json */

export interface LockedPackage {
  version?: string;
  /** The digest of the package's archive, such as `sha512-…`. */
  integrity?: string;
  license?: string;
  dev?: boolean;
  optional?: boolean;
}

export interface LockFile<Entry extends LockedPackage = LockedPackage> {
  /** By folder. The empty text is the project itself. */
  readonly packages: Record<string, Entry>;
}

/** Without its digest, `npm ci` takes whatever a registry gives. */
export function entriesWithoutIntegrity<Entry extends LockedPackage>({ packages }: LockFile<Entry>): [string, Entry][] {
  return Object.entries(packages).filter(
    ([folder, { integrity }]) => folder !== '' && !integrity?.startsWith('sha512-'),
  );
}

export interface ShippedPackage {
  readonly name: string;
  readonly version: string;
  /** Empty: the lock file names none, as for packages of other platforms. */
  readonly license: string;
  readonly integrity: string;
  /** True: the package ships only on some platforms. */
  readonly optional: boolean;
}

/** The packages that ship with the project, by name and version. */
export function shippedPackages({ packages }: LockFile): ShippedPackage[] {
  const shipped = Object.entries(packages)
    .filter(([folder, { dev }]) => folder !== '' && !dev)
    .map(([folder, { version = '', license = '', integrity = '', optional = false }]) => {
      const name = folder.slice(folder.lastIndexOf('node_modules/') + 'node_modules/'.length);
      return { name, version, license, integrity, optional };
    });
  const once = new Map(shipped.map((one) => [`${one.name} ${one.version}`, one]));
  return [...once.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}
