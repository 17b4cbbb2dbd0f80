// Loaded into processes by NODE_OPTIONS: the disk of one that has a file CONFIG.flush-fails beside its configuration does not take what is flushed next, and that
// of one with CONFIG.flush-waits makes it wait, which it says in CONFIG.flush-waited, until the file is gone. No file system that a test can make does so on demand.
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire, syncBuiltinESMExports } from 'node:module';

const fs = createRequire(import.meta.url)('node:fs');
const { fdatasync } = fs;
const config = process.argv[process.argv.indexOf('--config') + 1];
const fails = `${config}.flush-fails`;
const waits = `${config}.flush-waits`;

fs.fdatasync = function fdatasyncAtLast(fd, done) {
  if (existsSync(waits)) {
    writeFileSync(`${config}.flush-waited`, '');
    setTimeout(fdatasyncAtLast, 50, fd, done);
    return;
  }
  if (!existsSync(fails)) return fdatasync(fd, done);
  rmSync(fails);
  setImmediate(done, Object.assign(new Error('EIO: i/o error, fdatasync'), { code: 'EIO' }));
};
syncBuiltinESMExports();
