/* The median of measured times. */
#ifndef BASE_MEDIAN_H
#define BASE_MEDIAN_H

/* Returns the median of n > 0 numbers, which it sorts; for an even n the mean of the
 * middle two. */
double median(double *v, int n);

#endif
