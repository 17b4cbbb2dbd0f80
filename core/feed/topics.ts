/** The changes that feeds announce. Each key is the name of a table: the name with which the producer or consumer was opened. */
import { Topic } from '../store/topics.ts';

/** Rows of a producer have changed, so there are rows to send. */
export const producerRowsTopic = new Topic<string>('producer rows');

/** The rows that a consumer holds have changed. */
export const heldRowsTopic = new Topic<string>('held rows');

/** The quarantined entries of a consumer have changed. */
export const quarantineTopic = new Topic<string>('quarantine');

/** A consumer has refused rows beyond its quota, or has room again. */
export const shortageTopic = new Topic<string>('shortage');
