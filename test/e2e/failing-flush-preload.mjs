// Loaded into processes by NODE_OPTIONS. If a file CONFIG.flush-fails is beside the configuration, the next flush of the process fails. If CONFIG.flush-waits
// is there, flushes wait until the file is gone, and the process notes this in CONFIG.flush-waited. No file system that a test can make does so on demand.
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
